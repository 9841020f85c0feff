/** Makes layers of settings from options, variables (also those of kube-iptables-tailer) and defaults. Values are not checked yet. */
import { documentAt } from './docs-url.ts';
import { configFile, type SettingName, settingNames, settingOf } from './settings.ts';
import { isSlip } from './suggest.ts';
import type { Setting } from './values.ts';
import { printable } from '../../base/platform/printable.ts';

export type SettingOrigin =
  | { readonly kind: 'option'; readonly flag: string }
  | { readonly kind: 'variable'; readonly name: string }
  | FileOrigin
  | { readonly kind: 'default' };

export interface FileOrigin {
  readonly kind: 'file';
  readonly path: string;
  readonly text: string;
  readonly offset: number;
  readonly key: string;
}

/** Returns `--max-nodes`, `MAX_NODES`, `/etc/knt.yaml:3:1`. */
export function originText(origin: SettingOrigin): string {
  switch (origin.kind) {
    case 'option':
      return `--${origin.flag}`;
    case 'variable':
      return origin.name;
    case 'file':
      return `${origin.path}:${lineAndColumn(origin.text, origin.offset)}`;
    case 'default':
      return 'default';
    default:
      return origin satisfies never;
  }
}

/** Returns line and column, both counted from 1: `3:1`. */
export function lineAndColumn(text: string, offset: number): string {
  const lines = text.slice(0, offset).split('\n');
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

/** Makes the message for a wrong value: `MAX_NODES "many": must be a whole number`. */
export function problemWith(origin: SettingOrigin, value: unknown, message: string): string {
  const key = origin.kind === 'file' ? `: ${origin.key}` : '';
  return `${originText(origin)}${key}${shownValue(value)}: ${message}`;
}

const longest = 80;

function shownValue(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  const text = typeof value === 'string' && value.length > longest ? `${value.slice(0, longest)}…` : value;
  return ` ${typeof text === 'number' ? String(text) : JSON.stringify(text)}`;
}

/** The most problems that are shown, because a file may have any number of mistakes. */
const most = 25;

/** Called only if the message is shown. */
export type SettingProblem = () => string;

export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly SettingProblem[]) {
    const shown = problems.slice(0, most).map((problem) => printable(problem()));
    if (problems.length > most) shown.push(`and ${problems.length - most} more`);
    super(shown.join('\n'));
    this.problems = shown;
  }
}

export interface SettingValue {
  readonly value: unknown;
  readonly origin: SettingOrigin;
  readonly items?: readonly SettingOrigin[];
}

export type Layer = { readonly [Name in SettingName]?: SettingValue };

export type Flags = Readonly<Record<string, string | readonly string[] | undefined>>;

export function layerOfFlags(flags: Flags): Layer {
  return layerOf((setting) => {
    const value = flags[setting.flag];
    return value === undefined ? undefined : given(setting, value, { kind: 'option', flag: setting.flag });
  });
}

/** An empty variable counts as not set, because manifests often set an unused variable to ''. */
export function layerOfEnvironment(env: NodeJS.ProcessEnv): Layer {
  return layerOf((setting) => {
    const value = setting.env === '' ? '' : (env[setting.env] ?? '');
    return value === '' ? undefined : given(setting, value, { kind: 'variable', name: setting.env });
  });
}

export const defaults: Layer = layerOf((setting) =>
  setting.default === undefined ? undefined : given(setting, setting.default, { kind: 'default' }),
);

/** Returns the path by option or variable. '' stands for an option without a path. */
export function configPath(flags: Flags, env: NodeJS.ProcessEnv): string | undefined {
  const flag = flags[configFile.flag];
  return (typeof flag === 'string' ? flag : flag?.at(-1)) ?? (env[configFile.env] || undefined);
}

/** Converts a text to the type that a config file has. Other texts stay as they are, and the schema refuses them. */
function given(setting: Setting, value: string | readonly string[], origin: SettingOrigin): SettingValue {
  if (setting.list !== undefined) {
    const parts = typeof value === 'string' ? value.split(setting.list) : value;
    return { value: parts.map((part) => part.trim()).filter((part) => part !== ''), origin };
  }
  return { value: typed(setting, typeof value === 'string' ? value : value.at(-1)), origin };
}

function typed({ schema }: Setting, text: string | undefined): unknown {
  const { type } = schema.def;
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  if (type === 'number' && text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  return text;
}

function layerOf(find: (setting: Setting) => SettingValue | undefined): Layer {
  return Object.fromEntries(
    settingNames.flatMap((name) => {
      const found = find(settingOf(name));
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

/** Variables that a misspelt name is compared with. One-word names are left out, because a variable such as SOURCE may belong to any program. */
const variables = [configFile.env, ...settingNames.map((name) => settingOf(name).env)].filter((name) =>
  name.includes('_'),
);

export function envTypos(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(env).flatMap((name) => {
    if (!env[name] || !/^[A-Z_]+$/.test(name)) return [];
    const meant = variables.find((variable) => !env[variable] && isSlip(name, variable));
    return meant === undefined ? [] : [`${name}: there is no such variable; did you mean ${meant}?`];
  });
}

/** The setting that replaces a variable of kube-iptables-tailer (its util/envar.go). */
export interface Successor {
  setting: SettingName;
  /** Returns undefined for a value that kube-iptables-tailer also ignores. */
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

/** Reads the variables of kube-iptables-tailer, and warns about each. `own`: the settings of this program, which have precedence. */
export function inherit(env: NodeJS.ProcessEnv, own: Layer): { layer: Layer; warnings: readonly string[] } {
  const layer: { [Name in SettingName]?: SettingValue } = {};
  const warnings: string[] = [];
  for (const [variable, { setting, translate }] of Object.entries(successors)) {
    const text = env[variable] ?? '';
    // In the Namespace of a Service metrics-server, Kubernetes sets METRICS_SERVER_PORT to a URL.
    if (text === '' || text.includes('://')) continue;
    const value = translate(text, env);
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
