import type { NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';
import * as z from 'zod/mini';
import type { Failing } from '../model/program-record.ts';

/** Sources of facts beside the logs of the node; a missing one is not asked. */
export interface FactSources {
  felix?: () => NodeFacts['felix'] | Promise<NodeFacts['felix']>;
  /** Delays the question for `felix`, because all nodes may ask at the same moment. */
  felixDelay?: () => Millis;
  /** The contents of /proc, and the clock that stamps the lines. */
  proc?: ConnectionTracking & { now: () => Millis };
  kernel?: string;
  kubeProxyHere?: () => boolean | undefined;
  /** `shop/crawler-0`: who has an address now. */
  nameOf?: (address: string) => string | undefined;
  /** Looks up what is behind the Services of these chains. */
  prepareChains?: (chains: readonly string[]) => Promise<void>;
  schedule?: Schedule;
}

/** Reads the table of the host, or of the network namespace with that inode. */
export interface ConnectionTracking {
  conntrack: (netns: number | undefined) => Promise<NodeFacts['conntrack']>;
  topSources: (
    netns: number | undefined,
  ) => Promise<{ top: readonly { address: string; connections: number }[] } | undefined>;
  podOf: (netns: number) => Promise<string | undefined>;
}

type FelixAnswer = ReturnType<NonNullable<FactSources['felix']>>;

const timeout: Millis = 1000;

/** kube-proxy takes up to 5 s to write its rules again, and until then no Event could be written either. */
const felixTimeout: Millis = 10_000;
const felixPause: Millis = 1000;

/** Asks all at once what matters for the cause. What is late or fails is undefined. Never throws or rejects. */
export function findFacts(incident: Incident, recent: Recent, sources: FactSources): NodeFacts | Promise<NodeFacts> {
  const isAsked = causeOf(incident.code).asks === undefined;
  const delay = isAsked ? (sources.felixDelay?.() ?? 0) : 0;
  const felix = isAsked ? askFelix(sources, delay) : undefined;
  const { proc, kernel, kubeProxyHere } = sources;
  const withLog = (found: Partial<NodeFacts>): NodeFacts => ({
    ...factsOfLog(incident, recent, kernel),
    kubeProxyHere: attempt(kubeProxyHere),
    ...found,
  });
  return proc === undefined && !(felix instanceof Promise)
    ? withLog({ felix })
    : askInTime(incident, sources, felix, delay).then(withLog);
}

function factsOfLog(incident: Incident, recent: Recent, kernel?: string): NodeFacts {
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

function askFelix({ felix, schedule = systemSchedule }: FactSources, delay: Millis): FelixAnswer {
  if (felix === undefined) return undefined;
  const pause = (time: Millis): Promise<void> => new Promise((resolve) => void schedule(resolve, time));
  const first = delay === 0 ? attempt(felix) : pause(delay).then(felix);
  return first instanceof Promise ? untilAnswered(first) : first;

  /** Asks again if the API server does not answer: the rules for its own Service may be missing. */
  async function untilAnswered(asked: Promise<NodeFacts['felix']>): Promise<NodeFacts['felix']> {
    let settings = await asked;
    for (let left = felixTimeout - felixPause; left > 0 && isUnanswered(settings); left -= felixPause) {
      await pause(felixPause);
      settings = await felix?.();
    }
    return settings;
  }
}

function isUnanswered(settings: NodeFacts['felix']): boolean {
  return settings?.kind === 'unreadable' && settings.reason === 'failed';
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
  // Then another table is full, or the host's was full some time ago.
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

/** felix needs Linux 5.3; on Red Hat 4.18 may do (felix/bpf/bpf.go). Undefined: perhaps. */
function hasEbpf(kernel = ''): boolean | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,4})/.exec(kernel) ?? [];
  if (major === undefined) return undefined;
  const version = Number(major) * 10_000 + Number(minor);
  if (version >= 50_003) return true;
  return version < 40_018 ? false : undefined;
}

/** The kernel keeps an entry at least so long (net.netfilter.nf_conntrack_udp_timeout), so until then a full table is still seen. */
const shortestLife: Millis = 30_000;

/** Some kernels never name the namespace, so any may be meant. */
function isUnnamed({ subjects }: Incident): boolean {
  return !subjects.some((subject) => /\d/.test(subject));
}

/** The kernel makes room from 95 % on (net/netfilter/nf_conntrack_core.c), so a table that was full is not far below. */
function isRoomy(table: NodeFacts['conntrack']): boolean {
  return table?.count !== undefined && table.max !== undefined && table.count < 0.9 * table.max;
}

/** Network namespaces have tables of their own: the host and other Pods are not affected. */
function isOfNamespaces({ code, subjects }: Incident): boolean {
  return causeOf(code).asks === 'conntrack' && subjects.length > 0 && subjects.every((subject) => /\d/.test(subject));
}

/** The inode in `4026532317` or `netns 4026532317`; undefined for the host, or several. */
function namespaceIn(subjects: readonly string[]): number | undefined {
  if (subjects.length !== 1) return undefined;
  const [inode] = /\d{1,10}/.exec(subjects[0] ?? '') ?? [];
  return inode === undefined ? undefined : Number(inode);
}

const minute: Millis = 60_000;
const hour = 60 * minute;
/** A pause this long ends a run. */
const pause = 5 * minute;
const runLimit = 16;
/** A host on the internet always drops something; then the beginning of drops says nothing. */
const rareDrops = 3;

const shape = z.object({
  backends: z.record(z.string(), z.object({ backend: z.enum(['legacy', 'nf_tables']), time: z.number() })),
  /** Sorted spans in which the firewall of the host dropped packets without a pause of five minutes. */
  runs: z.array(z.object({ first: z.number(), last: z.number(), drops: z.number() })),
  /** The last that felix logged about using eBPF. */
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
    /** Returns the last of each program within the hour. */
    backends(now: Millis): NodeFacts['backends'] {
      const seen: Partial<Record<Failing, 'legacy' | 'nf_tables'>> = {};
      for (const [failing, { backend, time }] of Object.entries(backends))
        if (now - time <= hour) seen[failing as Failing] = backend;
      return seen;
    },
    /** Undefined: felix has logged nothing about it since its restart. */
    noteEbpf: (on: boolean | undefined): void => void (ebpf = on),
    get ebpf(): boolean | undefined {
      return ebpf;
    },
    noteFirewallDrop(time: Millis, drops = 1): void {
      // Mostly the last run; logs may be a little out of order.
      const run = runs.findLast(({ first, last }) => time >= first - pause && time <= last + pause);
      if (run === undefined) return begin(time, drops);
      run.first = Math.min(run.first, time);
      run.last = Math.max(run.last, time);
      run.drops += drops;
    },
    /** Returns when the firewall of the host began to drop, if that was within a minute of `at` and drops were rare in the hour before. */
    firewallDropsSince(at: Millis): Millis | undefined {
      const run = runs.find(({ first }) => Math.abs(first - at) <= minute);
      if (run === undefined) return undefined;
      const before = runs.filter(({ first, last }) => first < run.first && last >= run.first - hour);
      return before.reduce((sum, { drops }) => sum + drops, 0) >= rareDrops ? undefined : run.first;
    },
    state: (): RecentState => structuredClone({ backends, runs, ...(ebpf !== undefined && { ebpf }) }),
  };

  function begin(time: Millis, drops: number): void {
    const place = runs.findLastIndex(({ last }) => last < time) + 1;
    runs.splice(place, 0, { first: time, last: time, drops });
    if (runs.length > runLimit) runs.shift();
  }
}
