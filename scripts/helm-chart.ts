// Makes the parts of the Helm chart that follow from other files: scripts/update-helm-chart.ts writes them, test/deploy/helm.test.ts holds them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { causes } from '../src/explain/incidents/catalogue/catalogue.ts';

export const admissionPolicyFile = 'deploy/components/admission-policy/admission-policy.yaml';

/** Reasons of Events that are not about an incident. A test compares them with what the sources have. */
const otherReasons = ['PacketDrop', 'NetworkScan', 'NodeNetworkDegraded', 'NodeNetworkRecovered', 'TestEvent'];

/** The reasons of all Events that the program writes. */
export function eventReasons(): string[] {
  const ofCauses = causes.flatMap(({ reason, overReason }) => [reason, overReason]);
  return [...new Set([...otherReasons, ...ofCauses])].toSorted();
}

/** The admission policy with its list of reasons brought up to date, in lines of at most 150 characters. */
export function withReasons(policy: string): string {
  const list = `[${eventReasons()
    .map((reason) => `'${reason}'`)
    .join(', ')}]`;
  const lines = list.match(/.{1,140}(?: |$)/g)?.map((line) => `        ${line.trimEnd()}\n`) ?? [];
  return policy.replace(
    /(- name: reasons\n {6}expression: >-\n)(?: {8}.*\n)+/,
    (_, head: string) => `${head}${lines.join('')}`,
  );
}

const root = join(import.meta.dirname, '..');
export const chartFolder = 'deploy/helm/kube-netfilter-tailer';

/** Files that the chart has a copy of: a chart cannot read what is outside its folder. */
export const copied = [
  admissionPolicyFile,
  'deploy/monitoring/dashboard.json',
  'deploy/monitoring/prometheus-rules.yaml',
];

/** JSON Schema, draft 7, as far as the chart's uses it. */
export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  enum?: readonly string[];
  items?: Schema;
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  definitions?: Record<string, Schema>;
  default?: unknown;
}

/**
 * What `config` may hold: docs/config.schema.json without `node`, which every Pod has from NODE_NAME, and `$schema`. Defaults are
 * left out: Helm does not set them, the program does.
 */
export function configSchema(): Schema {
  const { properties = {} } = JSON.parse(read('docs/config.schema.json')) as Schema;
  const settable = structuredClone(properties);
  delete settable['node'];
  delete settable['$schema'];
  for (const schema of Object.values(settable)) delete schema.default;
  return {
    type: 'object',
    description: 'settings of the agent, by their names in docs/configuration.md; more on it below',
    additionalProperties: false,
    properties: settable,
  };
}

export function readSchema(): Schema {
  return JSON.parse(read(`${chartFolder}/values.schema.json`)) as Schema;
}

/** Keys whose values stand in a row together with them. */
const whole = new Set(['config', 'resources', 'affinity', 'updateStrategy', 'seLinuxOptions']);

/** The table of all values, for the chart's README. */
export function valuesTable(): string {
  const values = load(read(`${chartFolder}/values.yaml`));
  const rows = rowsOf(readSchema().properties ?? {}, values, '');
  return ['| key | default | |', '|---|---|---|', ...rows].join('\n');
}

function rowsOf(properties: Record<string, Schema>, values: unknown, prefix: string): string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const path = `${prefix}${key}`;
    const value = (values as Record<string, unknown> | undefined)?.[key];
    if (schema.properties !== undefined && !whole.has(path)) return rowsOf(schema.properties, value, `${path}.`);
    const preset =
      value === undefined || value === '' ? '' : code(typeof value === 'string' ? value : JSON.stringify(value));
    const about = [schema.enum?.map(code).join(', '), schema.description?.replaceAll('|', '\\|')];
    return `| ${code(path)} | ${preset} | ${about.filter((part) => part !== undefined).join(': ')} |`;
  });
}

/** A page with its table of values brought up to date. */
export function withValuesTable(page: string): string {
  return page.replace(/^\| key \| default \|.*(?:\n\|.*)*$/m, () => valuesTable());
}

function code(text: string): string {
  return `\`${text}\``;
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}
