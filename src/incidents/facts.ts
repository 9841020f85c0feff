import type { NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';
import type { Recent } from './tracker/recent.ts';

export interface FactFinderOptions {
  /** Reads FelixConfiguration; undefined where no API server is asked. */
  felix: (() => Promise<NodeFacts['felix']>) | undefined;
  /** What /proc tells; undefined where it is another machine's. */
  proc: ConnectionTracking | undefined;
  recent: Recent;
  /** Linux's, as uname tells it; undefined where it is another machine's. */
  kernel?: string | undefined;
  /** The clock that stamps the lines. */
  now: () => Millis;
  /** Whether a Pod of kube-proxy runs on the node. */
  kubeProxyHere: () => boolean | undefined;
  /** `shop/crawler-0`: who has an address now. */
  nameOf: (address: string) => string | undefined;
  /** As `schedule` of the sources: once, `delay` from now; returns how to call it off. */
  schedule?: (task: () => void, delay: Millis) => () => void;
  /** How long everything together may take. */
  timeout?: Millis;
}

/** Of the host, or of the network namespace with that inode. */
export interface ConnectionTracking {
  conntrack: (netns: number | undefined) => Promise<NodeFacts['conntrack']>;
  topSources: (
    netns: number | undefined,
  ) => Promise<{ top: readonly { address: string; connections: number }[] } | undefined>;
  /** Uid of the Pod that a network namespace is of. */
  podOf: (netns: number) => Promise<string | undefined>;
}

export interface FactFinder {
  /** Asks only what bears on the cause, all at once. What is late or fails is undefined; never rejects. */
  find: (incident: Incident) => Promise<NodeFacts>;
}

/** What is known without asking anybody. */
export function factsOfLog(incident: Incident, recent: Recent, kernel?: string): NodeFacts {
  const ebpf = recent.ebpf ?? hasEbpf(kernel);
  return {
    ...(ebpf === undefined ? {} : { ebpf }),
    ...(isOfNamespaces(incident) ? { namespacePod: null } : {}),
    felix: undefined,
    kubeProxyHere: undefined,
    conntrack: undefined,
    topSources: [],
    backends: recent.backends(incident.last),
    firewallDropsSince: recent.firewallDropsSince(incident.first),
  };
}

export function createFactFinder(options: FactFinderOptions): FactFinder {
  const { felix, proc, recent, kernel, now, kubeProxyHere, nameOf, schedule = onTimer, timeout = 1000 } = options;

  return {
    async find(incident) {
      const { promise: late, resolve } = Promise.withResolvers<undefined>();
      const cancel = schedule(() => resolve(undefined), timeout);
      const isTable = causeOf(incident.code).asks === 'conntrack';
      const netns = isTable ? namespaceIn(incident.subjects) : undefined;
      const tables = isTable && (netns !== undefined || !isOfNamespaces(incident)) ? proc : undefined;
      const [configuration, table, topSources, namespacePod] = await Promise.all([
        inTime(causeOf(incident.code).asks === undefined ? felix : undefined),
        inTime(tables && (() => tables.conntrack(netns))),
        inTime(tables && (() => tables.topSources(netns))),
        inTime(tables && netns !== undefined ? () => tables.podOf(netns) : undefined),
      ]);
      cancel();
      // Then it is not the host's table that is full, unless it was some time ago.
      const hasRoom = isUnnamed(incident) && isRoomy(table);
      const isLate = Math.abs(now() - incident.last) > shortestLife;
      return {
        ...factsOfLog(incident, recent, kernel),
        felix: configuration,
        kubeProxyHere: attempt(kubeProxyHere),
        conntrack: hasRoom && isLate ? { count: undefined, max: table?.max } : table,
        ...(namespacePod === undefined ? {} : { namespacePod }),
        ...(hasRoom && !isLate ? { namespacePod: null } : {}),
        topSources: (hasRoom ? [] : (topSources?.top ?? [])).map(({ address, connections }) => ({
          name: named(address),
          connections,
        })),
      };

      async function inTime<T>(ask: (() => Promise<T | undefined>) | undefined): Promise<T | undefined> {
        try {
          return await Promise.race([ask?.(), late]);
        } catch {
          return undefined;
        }
      }
    },
  };

  function named(address: string): string {
    const name = attempt(() => nameOf(address));
    return name === undefined ? address : `${name} (${address})`;
  }
}

function onTimer(task: () => void, delay: Millis): () => void {
  const timer = setTimeout(task, delay);
  return () => clearTimeout(timer);
}

function attempt<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}

/** felix wants 5.3; from 4.18 on Red Hat's may do, which other kernels of that age do not (felix/bpf/bpf.go). Undefined: perhaps. */
function hasEbpf(kernel = ''): boolean | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,4})/.exec(kernel) ?? [];
  if (major === undefined) return undefined;
  const version = Number(major) * 10_000 + Number(minor);
  if (version >= 50_003) return true;
  return version < 40_018 ? false : undefined;
}

/** An entry of a flow without answers stays so long at least (net.netfilter.nf_conntrack_udp_timeout): until then a full table is seen. */
const shortestLife: Millis = 30_000;

/** No line names a namespace: a kernel that does so for none may mean any. */
function isUnnamed({ subjects }: Incident): boolean {
  return !subjects.some((subject) => /\d/.test(subject));
}

/** At 95 % the kernel begins to make room (net/netfilter/nf_conntrack_core.c), so that a table that was full is not far below. */
function isRoomy(table: NodeFacts['conntrack']): boolean {
  return table?.count !== undefined && table.max !== undefined && table.count < 0.9 * table.max;
}

/** A namespace of its own has a table of its own: the host and other Pods do not suffer. */
function isOfNamespaces({ code, subjects }: Incident): boolean {
  return causeOf(code).asks === 'conntrack' && subjects.length > 0 && subjects.every((subject) => /\d/.test(subject));
}

/** The inode in `4026532317` or `netns 4026532317`; undefined: the host's, or more than one. */
function namespaceIn(subjects: readonly string[]): number | undefined {
  if (subjects.length !== 1) return undefined;
  const [inode] = /\d{1,10}/.exec(subjects[0] ?? '') ?? [];
  return inode === undefined ? undefined : Number(inode);
}
