import type { NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';
import * as z from 'zod/mini';
import type { Failing } from '../model/program-record.ts';

/** The sources of facts, apart from the node's logs. A missing one is not asked. */
export interface FactSources {
  felix?: () => NodeFacts['felix'] | Promise<NodeFacts['felix']>;
  /** Delays the look-up of `felix`, because all nodes may ask at the same moment. */
  felixDelay?: () => Millis;
  /** Reads /proc. `now`: the clock of the lines' times. */
  proc?: ConnectionTracking & { now: () => Millis };
  kernel?: string;
  kubeProxyHere?: () => boolean | undefined;
  /** Returns who has an address now: `shop/crawler-0`. */
  nameOf?: (address: string) => string | undefined;
  /** Looks up the endpoints of the Services with these chains. */
  prepareChains?: (chains: readonly string[]) => Promise<void>;
  schedule?: Schedule;
}

/** Reads the table of the host, or of the network namespace with this inode. */
export interface ConnectionTracking {
  conntrack: (netns: number | undefined) => Promise<NodeFacts['conntrack']>;
  topSources: (
    netns: number | undefined,
  ) => Promise<{ top: readonly { address: string; connections: number }[] } | undefined>;
  podOf: (netns: number) => Promise<string | undefined>;
}

type FelixAnswer = ReturnType<NonNullable<FactSources['felix']>>;

const timeout: Millis = 1000;

/** Longer than the 5 s that kube-proxy may take to write its rules again. Without them, no Event could reach the API server, either. */
const felixTimeout: Millis = 10_000;
const felixPause: Millis = 1000;

/** Asks for all facts that matter for the cause at the same time. Facts that are late or fail are undefined. Never throws or rejects. */
export function findFacts(incident: Incident, recent: Recent, sources: FactSources): NodeFacts | Promise<NodeFacts> {
  const isAboutRules = causeOf(incident.code).asks === undefined;
  const delay = isAboutRules ? (sources.felixDelay?.() ?? 0) : 0;
  const felix = isAboutRules ? askFelix(sources, delay) : undefined;
  const { proc, kernel, kubeProxyHere } = sources;
  const withLog = (found: Partial<NodeFacts>): NodeFacts => ({
    ebpf: recent.ebpf ?? hasEbpf(kernel),
    ...(isOfNamespaces(incident) ? { namespacePod: null } : {}),
    felix: undefined,
    kubeProxyHere: attempt(kubeProxyHere),
    conntrack: undefined,
    topSources: [],
    backends: recent.backends(incident.last),
    firewallDropsSince: recent.firewallDropsSince(incident.first),
    ...found,
  });
  return proc === undefined && !(felix instanceof Promise)
    ? withLog({ felix })
    : askInTime(incident, sources, felix, delay).then(withLog);
}

function askFelix({ felix, schedule = systemSchedule }: FactSources, delay: Millis): FelixAnswer {
  if (felix === undefined) return undefined;
  const pause = (time: Millis): Promise<void> => new Promise((resolve) => void schedule(resolve, time));
  const first = delay === 0 ? attempt(felix) : pause(delay).then(felix);
  return first instanceof Promise ? untilAnswered(first) : first;

  /** Asks again if the API server does not answer, because the rules for its own Service may be missing. */
  async function untilAnswered(asked: Promise<NodeFacts['felix']>): Promise<NodeFacts['felix']> {
    let settings = await asked;
    for (let left = felixTimeout - felixPause; left > 0; left -= felixPause) {
      if (settings?.kind !== 'unreadable' || settings.reason !== 'failed') break;
      await pause(felixPause);
      settings = await felix?.();
    }
    return settings;
  }
}

async function askInTime(
  incident: Incident,
  { proc, nameOf, prepareChains, schedule = systemSchedule }: FactSources,
  felix: FelixAnswer,
  delay: Millis,
): Promise<Partial<NodeFacts>> {
  const late = Promise.withResolvers<undefined>();
  const felixLate = Promise.withResolvers<undefined>();
  const cancels = [
    schedule(() => late.resolve(undefined), delay + timeout),
    schedule(() => felixLate.resolve(undefined), delay + felixTimeout),
  ];
  const { asks } = causeOf(incident.code);
  const isTable = asks === 'conntrack' || asks === 'host-conntrack';
  const netns = isTable ? namespaceIn(incident.subjects) : undefined;
  const tables = isTable && (netns !== undefined || !isOfNamespaces(incident)) ? proc : undefined;
  const [settings, table, topSources, namespacePod] = await Promise.all([
    inTime(felix, felixLate.promise),
    inTime(attempt(() => tables?.conntrack(netns))),
    inTime(attempt(() => tables?.topSources(netns))),
    inTime(netns === undefined ? undefined : attempt(() => tables?.podOf(netns))),
    inTime(attempt(() => prepareChains?.(incident.subjects))),
  ]);
  for (const cancel of cancels) cancel();
  // A table with room means that another table is full, or that the host's was full some time ago.
  const hasRoom = asks === 'conntrack' && isUnnamed(incident) && isRoomy(table);
  const isLate = proc !== undefined && proc.now() - incident.last > shortestLife;
  return {
    felix: settings,
    conntrack: hasRoom && isLate ? { count: undefined, max: table?.max } : table,
    ...(namespacePod === undefined ? {} : { namespacePod }),
    ...(hasRoom && !isLate ? { namespacePod: null } : {}),
    topSources: (hasRoom ? [] : (topSources?.top ?? [])).map(({ address, connections }) => {
      const name = attempt(() => nameOf?.(address));
      return { name: name === undefined ? address : `${name} (${address})`, connections };
    }),
  };

  async function inTime<T>(answer: T | Promise<T>, end = late.promise): Promise<T | undefined> {
    try {
      return await Promise.race([answer, end]);
    } catch {
      return undefined;
    }
  }
}

function attempt<T>(ask: (() => T) | undefined): T | undefined {
  try {
    return ask?.();
  } catch {
    return undefined;
  }
}

/**
 * Returns whether felix can use eBPF on this kernel: always from Linux 5.3 on, never before 4.18. Between them it is unknown, because the
 * kernels of Red Hat can from 4.18 on (felix/bpf/bpf.go).
 */
function hasEbpf(kernel = ''): boolean | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,4})/.exec(kernel) ?? [];
  if (major === undefined) return undefined;
  const version = Number(major) * 10_000 + Number(minor);
  if (version >= 50_003) return true;
  return version < 40_018 ? false : undefined;
}

/** The kernel keeps an entry at least this long (net.netfilter.nf_conntrack_udp_timeout), so a full table is still seen until then. */
const shortestLife: Millis = 30_000;

/** Returns whether no network namespace is named. The full table may then be that of any, because some kernels never name it. */
function isUnnamed({ subjects }: Incident): boolean {
  return !subjects.some((subject) => /\d/.test(subject));
}

/** The kernel makes room from 95 % on (net/netfilter/nf_conntrack_core.c), so a table that was full a moment ago is never far below. */
function isRoomy(table: NodeFacts['conntrack']): boolean {
  return table?.count !== undefined && table.max !== undefined && table.count < 0.9 * table.max;
}

/** Returns whether only tables of network namespaces are full. The host and Pods in other namespaces are then not affected. */
function isOfNamespaces({ code, subjects }: Incident): boolean {
  return causeOf(code).asks === 'conntrack' && subjects.length > 0 && subjects.every((subject) => /\d/.test(subject));
}

/** Returns the inode in `4026532317` or `netns 4026532317`; undefined for the host, or for several. */
function namespaceIn(subjects: readonly string[]): number | undefined {
  if (subjects.length !== 1) return undefined;
  const [inode] = /\d{1,10}/.exec(subjects[0] ?? '') ?? [];
  return inode === undefined ? undefined : Number(inode);
}

const minute: Millis = 60_000;
const hour = 60 * minute;
/** A pause of this length ends a run of drops. */
const runPause = 5 * minute;
const runLimit = 16;
/** With more drops than this in the hour before, the beginning of a run means nothing: a host on the internet always drops something. */
const rareDrops = 3;

const shape = z.object({
  backends: z.record(z.string(), z.object({ backend: z.enum(['legacy', 'nf_tables']), time: z.number() })),
  /** Time spans, sorted, in which the host's firewall dropped packets without a pause of five minutes. */
  runs: z.array(z.object({ first: z.number(), last: z.number(), drops: z.number() })),
  /** What felix last logged about its use of eBPF. */
  ebpf: z.optional(z.boolean()),
});

export type RecentState = z.infer<typeof shape>;

/** Recent lines of this node that may explain an incident, in the time of the log. */
export type Recent = ReturnType<typeof createRecent>;

/** Ignores an invalid state. */
export function createRecent(restored?: RecentState) {
  const { data } = shape.safeParse(restored);
  const backends: RecentState['backends'] = { ...data?.backends };
  const runs: RecentState['runs'] = data?.runs.slice(-runLimit) ?? [];
  let ebpf = data?.ebpf;

  return {
    noteBackend(failing: Failing, backend: 'legacy' | 'nf_tables', time: Millis): void {
      if (time >= (backends[failing]?.time ?? -Infinity)) backends[failing] = { backend, time };
    },
    /** Returns the last backend of each program within the hour. */
    backends(now: Millis): NodeFacts['backends'] {
      const seen: Partial<Record<Failing, 'legacy' | 'nf_tables'>> = {};
      for (const [failing, { backend, time }] of Object.entries(backends))
        if (now - time <= hour) seen[failing as Failing] = backend;
      return seen;
    },
    /** Undefined if felix has logged nothing about eBPF since its restart. */
    noteEbpf: (on: boolean | undefined): void => void (ebpf = on),
    get ebpf(): boolean | undefined {
      return ebpf;
    },
    noteFirewallDrop(time: Millis, drops = 1): void {
      // This is usually the last run, but logs may be a little out of order.
      const run = runs.findLast(({ first, last }) => time >= first - runPause && time <= last + runPause);
      if (run === undefined) {
        runs.splice(runs.findLastIndex(({ last }) => last < time) + 1, 0, { first: time, last: time, drops });
        if (runs.length > runLimit) runs.shift();
        return;
      }
      run.first = Math.min(run.first, time);
      run.last = Math.max(run.last, time);
      run.drops += drops;
    },
    /** When the host's firewall began to drop, if that was within a minute of `at` and drops were rare in the hour before. */
    firewallDropsSince(at: Millis): Millis | undefined {
      const run = runs.find(({ first }) => Math.abs(first - at) <= minute);
      if (run === undefined) return undefined;
      const before = runs.filter(({ first, last }) => first < run.first && last >= run.first - hour);
      return before.reduce((sum, { drops }) => sum + drops, 0) >= rareDrops ? undefined : run.first;
    },
    state: (): RecentState => structuredClone({ backends, runs, ...(ebpf !== undefined && { ebpf }) }),
  };
}
