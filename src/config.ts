import * as z from 'zod/mini';
import manifest from '../package.json' with { type: 'json' };
import type { Verdict } from './model.ts';
import { type ContainerRule, parseContainerRule } from './sources/containers/rules.ts';
import { parseListenAddress } from './telemetry/listen-address.ts';

export const version: string = manifest.version;

/** One log to read, or several. `auto`: the kernel's, from where it is found. */
export type SourceSetting =
  | { kind: 'auto' | 'kernel' | 'containers' }
  | { kind: 'journal'; directory: string | undefined }
  | { kind: 'file'; path: string };

/** Everything that can be set for `run`. */
export interface Config {
  readonly node: string;
  readonly sources: readonly SourceSetting[];
  readonly containers: readonly ContainerRule[];
  readonly podLogs: string;
  readonly stateDir: string;
  readonly podCache: 'node' | 'cluster';
  readonly prefixes: readonly { prefix: string; verdict: Verdict }[];
  readonly includeNoise: boolean;
  readonly timeZone: string;
  readonly reverseDns: boolean;
  readonly metricsAddress: string;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly kubeconfig: string | undefined;
  readonly maxNodes: number;
  readonly maxServices: number;
  readonly maxEndpointSlices: number;
  readonly procRoot: string;
}

interface Setting {
  /** The option of the command line, without its dashes. */
  flag: string;
  env: string;
  /** What stands for the value in a help text. */
  value: string;
  help: string;
  default?: string;
  /** May be given several times; in the environment, separated by this. */
  list?: RegExp;
}

/** Each setting by its name in `Config`. A flag wins over the environment. */
export const settings = {
  node: {
    flag: 'node',
    env: 'NODE_NAME',
    value: 'NAME',
    help: 'name of this Node. In a Pod: valueFrom fieldRef spec.nodeName',
  },
  sources: {
    flag: 'source',
    env: 'SOURCES',
    value: 'SOURCE',
    help:
      "what to read: auto (the kernel's log, wherever this node has it), journal or journal:DIR, file:PATH, " +
      'kernel (the ring buffer /dev/kmsg), containers (logs of kube-proxy and calico-node)',
    default: 'auto,containers',
    list: /[,\n]/,
  },
  containers: {
    flag: 'containers',
    env: 'CONTAINERS',
    value: 'NAMESPACES/PODS/CONTAINERS',
    help: 'whose logs "containers" means; each part is a list with commas, in which * stands for any text',
    default: 'kube-system,calico-system/kube-proxy*/kube-proxy kube-system,calico-system/calico-node*/calico-node',
    list: /\s+/,
  },
  podLogs: {
    flag: 'pod-logs',
    env: 'POD_LOGS',
    value: 'DIR',
    help: 'where the kubelet keeps the logs of containers',
    default: '/var/log/pods',
  },
  stateDir: {
    flag: 'state-dir',
    env: 'STATE_DIR',
    value: 'DIR',
    help: 'where positions and counts are kept over restarts',
    default: '/var/lib/kube-netfilter-tailer',
  },
  podCache: {
    flag: 'pod-cache',
    env: 'POD_CACHE',
    value: 'node|cluster',
    help: "Pods to keep in memory: this node's, others being looked up when needed, or all",
    default: 'node',
  },
  prefixes: {
    flag: 'prefix',
    env: 'PREFIXES',
    value: 'NAME=VERDICT',
    help: 'what a LOG prefix that begins with NAME means: dropped, rejected, logged or accepted',
    default: '',
    list: /[,\n]/,
  },
  includeNoise: {
    flag: 'include-noise',
    env: 'INCLUDE_NOISE',
    value: 'true|false',
    help: 'Events of multicast, broadcast, DHCP, IGMP, VRRP and neighbour discovery too',
    default: 'false',
  },
  timeZone: {
    flag: 'time-zone',
    env: 'TIME_ZONE',
    value: 'ZONE',
    help: 'zone of time stamps in files that name none, for example Europe/Berlin',
    default: 'UTC',
  },
  reverseDns: {
    flag: 'reverse-dns',
    env: 'REVERSE_DNS',
    value: 'true|false',
    help: 'look up host names of addresses outside the cluster',
    default: 'true',
  },
  metricsAddress: {
    flag: 'metrics-address',
    env: 'METRICS_ADDRESS',
    value: '[HOST]:PORT',
    help: 'where /metrics, /healthz and /readyz are served',
    default: ':9090',
  },
  logLevel: {
    flag: 'log-level',
    env: 'LOG_LEVEL',
    value: 'LEVEL',
    help: 'debug, info, warn or error',
    default: 'info',
  },
  kubeconfig: {
    flag: 'kubeconfig',
    env: '',
    value: 'FILE',
    help: "how to reach the API server. Default: $KUBECONFIG, else the Pod's ServiceAccount",
  },
  maxNodes: {
    flag: 'max-nodes',
    env: 'MAX_NODES',
    value: 'N',
    help: 'with more Nodes than that, only this one is watched',
    default: '200',
  },
  maxServices: {
    flag: 'max-services',
    env: 'MAX_SERVICES',
    value: 'N',
    help: 'with more Services than that, none is watched',
    default: '5000',
  },
  maxEndpointSlices: {
    flag: 'max-endpoint-slices',
    env: 'MAX_ENDPOINT_SLICES',
    value: 'N',
    help:
      'with more EndpointSlices than that, none is watched: Pods behind a Service are looked up when they are to be named, and ' +
      'chains of single endpoints stay unexplained. kube-proxy watches them all from every node already; 0: never watch them',
    default: '1000',
  },
  procRoot: {
    flag: 'proc-root',
    env: 'PROC_ROOT',
    value: 'DIR',
    help: "where the host's /proc is, for the connection tracking table: who fills it, whose it is",
    default: '/proc',
  },
} as const satisfies Record<keyof Config, Setting>;

const verdicts = ['dropped', 'rejected', 'logged', 'accepted'] as const;

const yesOrNo = z.pipe(
  z.enum(['true', 'false'], { error: 'must be true or false' }),
  z.transform((text) => text === 'true'),
);

const wholeNumber = z.pipe(
  z.string().check(z.regex(/^\d{1,9}$/, { error: 'must be a whole number' })),
  z.transform(Number),
);

const source = z.pipe(
  z.string().check(
    z.regex(/^(?:auto|kernel|containers|journal|(?:journal|file):\/.*)$/, {
      error: 'must be auto, kernel, containers, journal, journal:DIR or file:PATH, with absolute paths',
    }),
  ),
  z.transform(readSource),
);

const prefix = z.pipe(
  z.string().check(
    z.regex(new RegExp(`^.+=(?:${verdicts.join('|')})$`), {
      error: `must be NAME=VERDICT with a verdict of ${verdicts.join(', ')}, for example my-drop=dropped`,
    }),
  ),
  z.transform((text) => {
    const at = text.lastIndexOf('=');
    return { prefix: text.slice(0, at), verdict: text.slice(at + 1) as Verdict };
  }),
);

const containerRule = z.pipe(
  z.string(),
  z.transform((text, context) => {
    try {
      return parseContainerRule(text);
    } catch (error) {
      context.issues.push({ code: 'custom', message: (error as Error).message, input: text });
      return z.NEVER;
    }
  }),
);

const schema = z.strictObject({
  node: z
    .string({ error: 'is not set; in a DaemonSet it comes from valueFrom: fieldRef: fieldPath: spec.nodeName' })
    .check(z.regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'is no name of a Node' })),
  sources: z.array(source).check(
    z.minLength(1, { error: 'names nothing to read' }),
    z.refine((list) => new Set(list.map((each) => JSON.stringify(each))).size === list.length, {
      error: 'names something twice',
    }),
  ),
  containers: z.array(containerRule),
  podLogs: z.string().check(z.regex(/^\//, { error: 'must be an absolute path' })),
  stateDir: z.string().check(z.regex(/^\//, { error: 'must be an absolute path' })),
  podCache: z.enum(['node', 'cluster'], { error: 'must be node or cluster' }),
  prefixes: z.array(prefix),
  includeNoise: yesOrNo,
  timeZone: z.string().check(z.refine(isTimeZone, { error: 'is no time zone; try Europe/Berlin, UTC or +02:00' })),
  reverseDns: yesOrNo,
  metricsAddress: z.string().check(
    z.refine((text) => parseListenAddress(text) !== undefined, {
      error: 'must be :PORT or HOST:PORT, for example :9090',
    }),
  ),
  logLevel: z.enum(['debug', 'info', 'warn', 'error'], { error: 'must be debug, info, warn or error' }),
  kubeconfig: z.optional(z.string()),
  maxNodes: wholeNumber,
  maxServices: wholeNumber,
  maxEndpointSlices: wholeNumber,
  procRoot: z.string().check(z.regex(/^\//, { error: 'must be an absolute path' })),
});

/** Settings that cannot be followed; all of them at once. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/**
 * `flags`: values by name of the flag. Throws a `ConfigError` that lists all that is wrong, each with the names under which it
 * can be set.
 */
export function readConfig(
  flags: Readonly<Record<string, string | readonly string[] | undefined>>,
  env: NodeJS.ProcessEnv = process.env,
): Config {
  const given = Object.fromEntries(
    Object.entries<Setting>(settings).map(([name, setting]) => [name, valueOf(setting, flags, env)]),
  );
  const { success, data, error } = schema.safeParse(given);
  if (success) return Object.freeze(data) as Config;
  throw new ConfigError(
    error.issues.map(({ path: [name = '', index], message }) => {
      const setting: Setting | undefined = settings[name as keyof Config];
      const value = index === undefined ? given[name as string] : (given[name as string] as string[])[Number(index)];
      const shown = value === undefined || typeof value === 'object' ? '' : ` ${JSON.stringify(value)}`;
      return `${[setting?.env, `--${setting?.flag}`].filter(Boolean).join(' or ')}${shown}: ${message}`;
    }),
  );
}

/** A variable that is set to nothing counts as not set: manifests are written that way. */
function valueOf(
  setting: Setting,
  flags: Readonly<Record<string, string | readonly string[] | undefined>>,
  env: NodeJS.ProcessEnv,
): string | string[] | undefined {
  const value = flags[setting.flag] ?? (env[setting.env] || undefined) ?? setting.default;
  if (setting.list === undefined) return typeof value === 'string' ? value : value?.at(-1);
  const parts = typeof value === 'string' ? value.split(setting.list) : [...(value ?? [])];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function readSource(text: string): SourceSetting {
  const [kind, path] = [text.split(':', 1)[0], text.slice(text.indexOf(':') + 1)];
  if (kind === 'file') return { kind, path };
  if (kind === 'journal') return { kind, directory: text === kind ? undefined : path };
  return { kind: kind as 'auto' | 'kernel' | 'containers' };
}

/** Where programs are, as in the environment. */
export function searchPath(env: NodeJS.ProcessEnv = process.env): string {
  return env['PATH'] ?? '';
}

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) instanceof Intl.DateTimeFormat;
  } catch {
    return false;
  }
}
