/** The table of all settings. A row has the option, variable, help, default and valid values of a setting. */
import * as z from 'zod/mini';
import { legacyMetricChoices } from '../model/choices.ts';
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
  text,
  wholeNumber,
  yesOrNo,
} from './values.ts';
import { inputSettings } from './input-settings.ts';

/** The setting that names the config file. It is not allowed in the file. */
export const configFile = {
  flag: 'config',
  env: 'CONFIG_FILE',
  value: 'FILE',
  help: 'file with settings, as YAML or JSON (docs/configuration.md); options and variables go over it',
} as const satisfies Omit<Setting, 'schema'>;

/** Each setting by its name in `Config`, which is also its key in the file. */
export const settings = {
  ...inputSettings,
  prefixes: {
    flag: 'prefix',
    env: 'PREFIXES',
    value: 'NAME=VERDICT',
    help: 'what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted; without NAME, what a line without a prefix means',
    default: '',
    list: /[,\n]/,
    reload: true,
    schema: listOf(prefix),
  },
  includeNoise: {
    flag: 'include-noise',
    env: 'INCLUDE_NOISE',
    value: 'true|false',
    help: 'Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery too',
    type: 'boolean',
    default: 'false',
    reload: true,
    schema: yesOrNo,
  },
  timeZone: {
    flag: 'time-zone',
    env: 'TIME_ZONE',
    value: 'ZONE',
    help: 'zone of time stamps in files that name none, for example Europe/Berlin',
    default: 'UTC',
    schema: text.check(z.refine(isTimeZone, { error: 'is no time zone; try Europe/Berlin, UTC or +02:00' })),
  },
  reverseDns: {
    flag: 'reverse-dns',
    env: 'REVERSE_DNS',
    value: 'true|false',
    help: 'look up host names of addresses outside the cluster',
    type: 'boolean',
    default: 'true',
    schema: yesOrNo,
  },
  metricsAddress: {
    flag: 'metrics-address',
    env: 'METRICS_ADDRESS',
    value: '[HOST]:PORT',
    help: 'where /metrics, /healthz and /readyz are served',
    default: ':9090',
    schema: listenAddress(':9090'),
  },
  healthAddress: {
    flag: 'health-address',
    env: 'HEALTH_ADDRESS',
    value: '[HOST]:PORT',
    help:
      "where /healthz and /readyz are served by a listener of their own, for the kubelet's probes, which then no scraper can hold up; " +
      'deploy/ and the Helm chart set it. Default: they are served with /metrics only',
    schema: z.optional(listenAddress(':9091')),
  },
  nodeCondition: {
    flag: 'node-condition',
    env: 'NODE_CONDITION',
    value: 'true|false',
    help:
      'the Node has the condition NetfilterRulesStale while its rules cannot be written, for programs that drain nodes; needs the right ' +
      'to patch nodes/status (docs/incidents.md)',
    type: 'boolean',
    default: 'false',
    schema: yesOrNo,
  },
  dropsAddress: {
    flag: 'drops-address',
    env: 'DROPS_ADDRESS',
    value: '[HOST]:PORT',
    help:
      'where /drops is served, the flows that were dropped in the last hour (docs/kubectl-plugin.md): whoever reaches it sees those of all ' +
      'namespaces. Default: nowhere, and they are not kept',
    schema: z.optional(listenAddress(':9092')),
  },
  legacyMetric: {
    flag: 'legacy-metric',
    env: 'LEGACY_METRIC',
    value: 'NAMING',
    help:
      "kube-iptables-tailer's metric packet_drops_count{src,dst} too, each end named by its namespace, name, " +
      'name_with_namespace or workload; off: not',
    default: 'off',
    choices: legacyMetricChoices,
    schema: oneOf(legacyMetricChoices),
  },
  logLevel: {
    flag: 'log-level',
    env: 'LOG_LEVEL',
    value: 'LEVEL',
    help: 'debug, info, warn or error, in lower or upper case',
    default: 'info',
    choices: logLevelChoices,
    reload: true,
    schema: z.pipe(z.transform(lowerCase), oneOf(logLevelChoices)),
  },
  kubeconfig: {
    flag: 'kubeconfig',
    env: '',
    value: 'FILE',
    help: "how to reach the API server. Default: $KUBECONFIG, else the Pod's ServiceAccount",
    schema: z.optional(text),
  },
  ...auditSettings,
  maxNodes: {
    flag: 'max-nodes',
    env: 'MAX_NODES',
    value: 'N',
    help: 'watch only this Node above N Nodes',
    type: 'number',
    default: '200',
    schema: wholeNumber,
  },
  maxServices: {
    flag: 'max-services',
    env: 'MAX_SERVICES',
    value: 'N',
    help: 'stop watching Services above N',
    type: 'number',
    default: '5000',
    schema: wholeNumber,
  },
  maxEndpointSlices: {
    flag: 'max-endpoint-slices',
    env: 'MAX_ENDPOINT_SLICES',
    value: 'N',
    help:
      'stop watching EndpointSlices above N: Pods behind a Service are looked up when they are to be named, and ' +
      'chains of single endpoints stay unexplained. kube-proxy watches them all from every node already; 0: never watch them',
    type: 'number',
    default: '1000',
    schema: wholeNumber,
  },
  procRoot: {
    flag: 'proc-root',
    env: 'PROC_ROOT',
    value: 'DIR',
    help: "where the host's /proc is, for the connection tracking table: who fills it, whose it is",
    default: '/proc',
    schema: path,
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;

type Schemas = { -readonly [Name in SettingName]: (typeof settings)[Name]['schema'] };

export const schema = z.strictObject(
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, setting.schema])) as Schemas,
);

export type Config = Readonly<z.output<typeof schema>>;

export const settingNames = Object.keys(settings) as readonly SettingName[];

/** Returns a setting in the type that has all optional fields. */
export function settingOf(name: SettingName): Setting {
  return settings[name];
}
