/** The table of all settings. A row has the option, variable, help, default and valid values of a setting. */
import * as z from 'zod/mini';
import { legacyMetricChoices } from '../../base/model/choices.ts';
import { auditSettings } from './audit-settings.ts';
import {
  isTimeZone,
  listenAddress,
  listOf,
  logLevelChoices,
  lowerCase,
  oneOf,
  path,
  prefix,
  type Setting,
  type SettingRow,
  text,
  wholeNumber,
  yesOrNo,
} from './values.ts';
import { inputSettings } from './input-settings.ts';

/** The file itself must not have this setting. */
export const configFile = {
  flag: 'config',
  env: 'CONFIG_FILE',
  value: 'FILE',
  help: 'file with settings, as YAML or JSON (docs/configuration.md); options and variables override it',
} as const satisfies Omit<Setting, 'schema'>;

const rows = {
  ...inputSettings,
  prefixes: {
    flag: 'prefix',
    value: 'NAME=VERDICT',
    help: 'what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted; without NAME, what a line without a prefix means',
    default: '',
    list: /[,\n]/,
    reload: true,
    schema: listOf(prefix),
  },
  includeNoise: {
    value: 'true|false',
    help: 'also make Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery',
    default: 'false',
    reload: true,
    schema: yesOrNo,
  },
  timeZone: {
    value: 'ZONE',
    help: 'time zone of stamps without a zone in files, for example Europe/Berlin',
    default: 'UTC',
    schema: text.check(z.refine(isTimeZone, { error: 'is not a time zone; try Europe/Berlin, UTC or +02:00' })),
  },
  reverseDns: {
    value: 'true|false',
    help: 'look up host names of addresses outside the cluster',
    default: 'true',
    schema: yesOrNo,
  },
  metricsAddress: {
    value: '[HOST]:PORT',
    help: 'listen address for /metrics, /healthz and /readyz',
    default: ':9090',
    schema: listenAddress(':9090'),
  },
  healthAddress: {
    value: '[HOST]:PORT',
    help:
      "second listen address for /healthz and /readyz, for the kubelet's probes, so that scrapers cannot hold them up; " +
      'deploy/ and the Helm chart set it. Default: only the address of /metrics',
    schema: z.optional(listenAddress(':9091')),
  },
  nodeCondition: {
    value: 'true|false',
    help:
      'set the condition NetfilterRulesStale on the Node while its rules cannot be written, for programs that drain nodes; needs the right ' +
      'to patch nodes/status (docs/node-condition.md)',
    default: 'false',
    schema: yesOrNo,
  },
  dropsAddress: {
    value: '[HOST]:PORT',
    help:
      'listen address for /drops, the flows that were dropped in the last hour (docs/live-drops.md): anyone who can reach it sees ' +
      'all namespaces. Default: off, and no flows are kept',
    schema: z.optional(listenAddress(':9092')),
  },
  legacyMetric: {
    value: 'NAMING',
    help:
      "also serve kube-iptables-tailer's metric packet_drops_count{src,dst}, with each end named by its namespace, name, " +
      'name_with_namespace or workload',
    default: 'off',
    choices: legacyMetricChoices,
    schema: oneOf(legacyMetricChoices),
  },
  logLevel: {
    value: 'LEVEL',
    help: 'debug, info, warn or error, in lower or upper case',
    default: 'info',
    choices: logLevelChoices,
    reload: true,
    schema: z.pipe(z.transform(lowerCase), oneOf(logLevelChoices)),
  },
  kubeconfig: {
    env: '',
    value: 'FILE',
    help: "kubeconfig file for the API server. Default: $KUBECONFIG or, if that is not set, the Pod's ServiceAccount",
    schema: z.optional(text),
  },
  ...auditSettings,
  maxNodes: {
    value: 'N',
    help: 'if the cluster has more than N Nodes, watch only this one',
    default: '200',
    schema: wholeNumber,
  },
  maxServices: {
    value: 'N',
    help:
      'if the cluster has more than N Services, do not watch them, and count them again every hour or two; until they are watched, ' +
      'private addresses without another owner are unknown. kube-proxy already watches all Services from every node',
    default: '100000',
    schema: wholeNumber,
  },
  maxEndpointSlices: {
    value: 'N',
    help:
      'if the cluster has more than N EndpointSlices, stop watching them: Pods behind a Service are looked up when they are needed, and ' +
      'chains of single endpoints stay unexplained. kube-proxy already watches all of them from every node; 0: never watch them',
    default: '1000',
    schema: wholeNumber,
  },
  procRoot: {
    value: 'DIR',
    help: "folder of the host's /proc, to find out which connection tracking table is full, and who fills it",
    default: '/proc',
    schema: path,
  },
} as const satisfies Record<string, SettingRow>;

/** Each setting by its name in `Config`, which is also its key in the file. */
export const settings = named(rows);

/** Derives option and variable from the setting's name unless the row has its own: `podLogs` becomes `--pod-logs` and `POD_LOGS`. */
function named<Rows extends Record<string, SettingRow>>(table: Rows): { [Name in keyof Rows]: Rows[Name] & Names } {
  const all = Object.entries(table).map(([name, row]) => {
    const words = optionName(name);
    return [name, { flag: words, env: words.replaceAll('-', '_').toUpperCase(), ...row }];
  });
  return Object.fromEntries(all) as { [Name in keyof Rows]: Rows[Name] & Names };
}

/** `podLogs` is `--pod-logs` on the command line. */
export function optionName(key: string): string {
  return key.replaceAll(/[A-Z]/g, '-$&').toLowerCase();
}

type Names = Pick<Setting, 'flag' | 'env'>;

export type SettingName = keyof typeof settings;

type Schemas = { -readonly [Name in SettingName]: (typeof settings)[Name]['schema'] };

export const schema = z.strictObject(
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, setting.schema])) as Schemas,
);

export type Config = Readonly<z.output<typeof schema>>;

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** Returns a setting, typed with all optional fields. */
export function settingOf(name: SettingName): Setting {
  return settings[name];
}
