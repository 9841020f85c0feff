/** Reads the variables of kube-iptables-tailer that this program accepts, and warns about each. */
import { documentAt } from './docs-url.ts';
import type { Given, Layer } from './layer.ts';
import { type SettingName, settingOf } from './settings.ts';

/** The setting that replaces a variable of kube-iptables-tailer (its util/envar.go). */
export interface Successor {
  setting: SettingName;
  /** Returns undefined for a value that kube-iptables-tailer ignores, too. */
  translate: (value: string, env: NodeJS.ProcessEnv) => string | readonly string[] | undefined;
}

export const successors: Readonly<Record<string, Successor>> = {
  JOURNAL_DIRECTORY: { setting: 'sources', translate: (directory) => [`journal:${directory}`, 'containers'] },
  IPTABLES_LOG_PATH: {
    setting: 'sources',
    translate: (path, env) => (env['JOURNAL_DIRECTORY'] ? undefined : [`file:${path}`, 'containers']),
  },
  IPTABLES_LOG_PREFIX: { setting: 'prefixes', translate: (word) => [`${word}=dropped`] },
  METRICS_SERVER_PORT: {
    setting: 'metricsAddress',
    translate: (port) => (/^\d+$/.test(port) ? `:${port}` : undefined),
  },
  POD_IDENTIFIER: {
    setting: 'legacyMetric',
    translate(identifier) {
      if (identifier === 'label') return 'workload';
      return identifier === 'name' || identifier === 'name_with_namespace' ? identifier : 'namespace';
    },
  },
};

/** Variables without a counterpart here; docs/migrating.md has the reason for each. */
export const withoutSuccessor = [
  'KUBE_API_SERVER',
  'KUBE_EVENT_DISPLAY_REASON',
  'KUBE_EVENT_SOURCE_COMPONENT_NAME',
  'PACKET_DROP_CHANNEL_BUFFER_SIZE',
  'PACKET_DROP_EXPIRATION_MINUTES',
  'REPEATED_EVENTS_INTERVAL_MINUTES',
  'WATCH_LOGS_INTERVAL_SECONDS',
  'POD_IDENTIFIER_LABEL',
  'PACKET_DROP_LOG_TIME_LAYOUT',
];

const where = `see ${documentAt('docs/migrating.md')}`;

/** `own`: what the options, variables and file of this program set; it has precedence. */
export function inherit(env: NodeJS.ProcessEnv, own: Layer): { layer: Layer; warnings: readonly string[] } {
  const layer: { [Name in SettingName]?: Given } = {};
  const warnings: string[] = [];
  for (const [variable, { setting, translate }] of Object.entries(successors)) {
    const given = env[variable] ?? '';
    // In the Namespace of a Service metrics-server, Kubernetes sets METRICS_SERVER_PORT to a URL.
    if (given === '' || given.includes('://')) continue;
    const value = translate(given, env);
    const name = `${settingOf(setting).env}, or ${setting} in the file`;
    if (value === undefined || own[setting] !== undefined) {
      const why = value === undefined ? 'as there' : `because ${setting} is set`;
      warnings.push(`${variable} is a variable of kube-iptables-tailer and does nothing, ${why}: remove it (${where})`);
      continue;
    }
    layer[setting] = { value, origin: { kind: 'variable', name: variable } };
    const shown = typeof value === 'string' ? value : value.join(',');
    warnings.push(
      `${variable} is a variable of kube-iptables-tailer, taken as ${shown}: set ${name}, to that instead (${where})`,
    );
  }
  for (const variable of withoutSuccessor)
    if (env[variable])
      warnings.push(`${variable} is a variable of kube-iptables-tailer and has no counterpart (${where})`);
  return { layer, warnings };
}
