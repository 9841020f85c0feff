import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

export const root = new URL('../../', import.meta.url);

export function textOf(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

export interface AlertRule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; description: string; runbook_url: string };
}

/** The groups of deploy/monitoring/prometheus-rules.yaml, in the form that promtool also reads. */
export function ruleGroups(): { groups: readonly { name: string; rules: readonly AlertRule[] }[] } {
  return (load(textOf('deploy/monitoring/prometheus-rules.yaml')) as { spec: ReturnType<typeof ruleGroups> }).spec;
}

export const alerts: readonly AlertRule[] = ruleGroups().groups.flatMap(({ rules }) => rules);

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  gridPos: { h: number; w: number; x: number; y: number };
  targets?: readonly { expr: string; datasource: { uid: string } }[];
  options?: { content?: string };
  collapsed?: boolean;
  /** The panels of a collapsed row. */
  panels?: readonly Panel[];
  fieldConfig?: {
    defaults: {
      unit?: string;
      thresholds?: { steps: readonly { value: number | null }[] };
      custom?: { thresholdsStyle?: { mode: string } };
    };
  };
}

interface Variable {
  name: string;
  type: string;
  definition?: string;
  allValue?: string;
}

const saved = JSON.parse(textOf('deploy/monitoring/dashboard.json')) as {
  schemaVersion: number;
  uid: string;
  templating: { list: readonly Variable[] };
  panels: readonly Panel[];
};

/** All panels, including those of collapsed rows. */
export const dashboard = { ...saved, panels: saved.panels.flatMap((panel) => [panel].concat(panel.panels ?? [])) };

/** Fills in the variables as Grafana does; values do not matter here. */
export const queries: readonly string[] = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$__range', '6h')),
);
