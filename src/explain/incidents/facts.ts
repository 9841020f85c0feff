import type { NodeFacts } from '../../base/model/incident.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { type Schedule, schedule as systemSchedule } from '../../base/platform/timer.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';
import * as z from 'zod/mini';
import type { Failing } from '../../base/model/program-record.ts';

/** The sources of facts, apart from the node's logs. A missing one is not asked. */
export interface FactSources {
  /** Returns settings that need no request, such as those of saved objects. */
  felix?: () => NodeFacts['felix'];
  kernel?: string;
  kubeProxyHere?: () => boolean | undefined;
  /** Undefined: all facts are available at once. */
  asked?: SlowFactSources | undefined;
}

/** The sources that take time to answer. */
export interface SlowFactSources {
  felix?: () => Promise<NodeFacts['felix']>;
  /** Delays the look-up of `felix`, because all nodes may ask at the same moment. */
  felixDelay?: () => Millis;
  /** Looks up the endpoints of the Services with these chains. */
  prepareChains?: (chains: readonly string[]) => Promise<void>;
  /** Reads /proc. `now`: the clock of the lines' times. */
  proc?: ConnectionTracking & { now: () => Millis };
  /** Returns the present owner of an address: `shop/crawler-0`. */
  nameOf?: (address: string) => string | undefined;
  schedule?: Schedule;
}

/** Reads the table of the host, or of the network namespace with this inode. */
export interface ConnectionTracking {
  conntrack: (netns: number | undefined) => Promise<NodeFacts['conntrack']>;
  topSources: (
    netns: number | undefined,
  ) => Promise<{ top: readonly { address: string; connections: number }[] } | undefined>;
  podOfNetns: (netns: number) => Promise<string | undefined>;
}

const answerLimit: Millis = 1000;

/** Longer than the 5 s that kube-proxy may take to write its rules again. Without them, no Event could reach the API server, either. */
const felixLimit: Millis = 10_000;
const felixPause: Millis = 1000;

/** Never throws. */
export function knownFacts(incident: Incident, recent: RecentLines, sources: FactSources): NodeFacts {
  return {
    ebpf: recent.ebpf ?? hasEbpf(sources.kernel),
    ...(isOfNamespaces(incident) ? { namespacePod: null } : {}),
    felix: causeOf(incident.code).asks === undefined ? attempt(sources.felix) : undefined,
    kubeProxyHere: attempt(sources.kubeProxyHere),
    conntrack: undefined,
    topSources: [],
    backends: recent.backends(incident.last),
    firewallDropsSince: recent.firewallDropsSince(incident.first),
  };
}

/** Facts that are late or fail are undefined. Never rejects. */
export async function askFacts(incident: Incident, recent: RecentLines, sources: FactSources): Promise<NodeFacts> {
  const { asks } = causeOf(incident.code);
  const ask = asks === undefined ? askAboutRules : askAboutTable;
  const answers = asks === 'nothing' ? {} : await ask(incident, sources.asked ?? {});
  return { ...knownFacts(incident, recent, sources), ...answers };
}

async function askAboutRules({ subjects }: Incident, sources: SlowFactSources): Promise<Partial<NodeFacts>> {
  const { felix, felixDelay, prepareChains, schedule = systemSchedule } = sources;
  const pause = (time: Millis): Promise<void> => new Promise((resolve) => void schedule(resolve, time));
  const delay = felixDelay?.() ?? 0;
  const asking = { isOver: false, settings: undefined as NodeFacts['felix'] };
  await Promise.all([
    inTime(delay + felixLimit, sources, () => felix && askFelix(felix)),
    inTime(delay + answerLimit, sources, () => prepareChains?.(subjects)),
  ]);
  asking.isOver = true;
  return { felix: asking.settings };

  /** Asks again if the API server does not answer, because the rules for its own Service may be missing. */
  async function askFelix(ask: () => Promise<NodeFacts['felix']>): Promise<void> {
    if (delay > 0) await pause(delay);
    for (; !asking.isOver; await pause(felixPause)) {
      const settings = await ask();
      asking.settings = settings;
      if (settings?.kind !== 'unreadable' || settings.reason !== 'failed') return;
    }
  }
}

async function askAboutTable(incident: Incident, sources: SlowFactSources): Promise<Partial<NodeFacts>> {
  const { proc, nameOf } = sources;
  const inodes = inodesIn(incident);
  const netns = incident.subjects.length === 1 ? inodes[0] : undefined;
  if (proc === undefined || (netns === undefined && isOfNamespaces(incident))) return {};
  const [conntrack, most, namespacePod] = await Promise.all([
    inTime(answerLimit, sources, () => proc.conntrack(netns)),
    inTime(answerLimit, sources, () => proc.topSources(netns)),
    inTime(answerLimit, sources, () => (netns === undefined ? undefined : proc.podOfNetns(netns))),
  ]);
  if (causeOf(incident.code).asks === 'conntrack' && inodes.length === 0 && isRoomy(conntrack)) {
    // Some kernels never name the namespace. Another table is full, or the host's was full some time ago.
    const isLate = proc.now() - incident.last > shortestLife;
    return isLate ? { conntrack: { count: undefined, max: conntrack?.max } } : { conntrack, namespacePod: null };
  }
  const topSources = (most?.top ?? []).map(({ address, connections }) => {
    const name = attempt(() => nameOf?.(address));
    return { name: name === undefined ? address : `${name} (${address})`, connections };
  });
  return { conntrack, topSources, ...(namespacePod === undefined ? {} : { namespacePod }) };
}

async function inTime<Answer>(
  allowed: Millis,
  { schedule = systemSchedule }: SlowFactSources,
  ask: () => Promise<Answer> | undefined,
): Promise<Answer | undefined> {
  const late = Promise.withResolvers<undefined>();
  const cancel = schedule(() => late.resolve(undefined), allowed);
  try {
    return await Promise.race([ask(), late.promise]);
  } catch {
    return undefined;
  } finally {
    cancel();
  }
}

function attempt<T>(ask: (() => T) | undefined): T | undefined {
  try {
    return ask?.();
  } catch {
    return undefined;
  }
}

/** Always from Linux 5.3 on, never before 4.18; between them unknown, because Red Hat's kernels can from 4.18 on (felix/bpf/bpf.go). */
function hasEbpf(kernel = ''): boolean | undefined {
  const [, major, minor] = /^(\d{1,3})\.(\d{1,4})/.exec(kernel) ?? [];
  if (major === undefined) return undefined;
  const version = Number(major) * 10_000 + Number(minor);
  if (version >= 50_003) return true;
  return version < 40_018 ? false : undefined;
}

/** The kernel keeps an entry at least this long (net.netfilter.nf_conntrack_udp_timeout), so a full table is still seen until then. */
const shortestLife: Millis = 30_000;

/** The kernel makes room from 95 % on (net/netfilter/nf_conntrack_core.c), so a table that was full a moment ago is never far below. */
function isRoomy(table: NodeFacts['conntrack']): boolean {
  return table?.count !== undefined && table.max !== undefined && table.count < 0.9 * table.max;
}

/** If only tables of network namespaces are full, the host and Pods in other namespaces are not affected. */
function isOfNamespaces(incident: Incident): boolean {
  const { length } = incident.subjects;
  return causeOf(incident.code).asks === 'conntrack' && length > 0 && inodesIn(incident).length === length;
}

/** Returns the inodes of network namespaces in the subjects, such as `4026532317` and `netns 4026532317`. The host has none. */
function inodesIn({ subjects }: Incident): number[] {
  return subjects.flatMap((subject) => /\d{1,10}/.exec(subject)?.map(Number) ?? []);
}

const minute: Millis = 60_000;
const hour = 60 * minute;
/** A pause of this length ends a run of drops. */
const runPause = 5 * minute;
const runLimit = 16;
/** With this many drops in the hour before, the beginning of a run means nothing: a host on the internet always drops something. */
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
export interface RecentLines {
  noteBackend(failing: Failing, backend: 'legacy' | 'nf_tables', time: Millis): void;
  backends(now: Millis): NodeFacts['backends'];
  /** Undefined if felix has logged nothing about eBPF since its restart. */
  noteEbpf: (on: boolean | undefined) => void;
  readonly ebpf: boolean | undefined;
  noteFirewallDrop(time: Millis, drops?: number): void;
  /** When the host's firewall began to drop, if that was within a minute of `at` and drops were rare in the hour before. */
  firewallDropsSince(at: Millis): Millis | undefined;
  state: () => RecentState;
}

export function createRecent(restored?: RecentState): RecentLines {
  const { data } = shape.safeParse(restored);
  const backends: RecentState['backends'] = { ...data?.backends };
  const runs: RecentState['runs'] = data?.runs.slice(-runLimit) ?? [];
  let ebpf = data?.ebpf;

  return {
    noteBackend(failing: Failing, backend: 'legacy' | 'nf_tables', time: Millis): void {
      if (time >= (backends[failing]?.time ?? -Infinity)) backends[failing] = { backend, time };
    },
    backends(now: Millis): NodeFacts['backends'] {
      const seen: Partial<Record<Failing, 'legacy' | 'nf_tables'>> = {};
      for (const [failing, { backend, time }] of Object.entries(backends))
        if (now - time <= hour) seen[failing as Failing] = backend;
      return seen;
    },
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
    firewallDropsSince(at: Millis): Millis | undefined {
      const run = runs.find(({ first }) => Math.abs(first - at) <= minute);
      if (run === undefined) return undefined;
      const before = runs.filter(({ first, last }) => first < run.first && last >= run.first - hour);
      return before.reduce((sum, { drops }) => sum + drops, 0) >= rareDrops ? undefined : run.first;
    },
    state: (): RecentState => structuredClone({ backends, runs, ...(ebpf !== undefined && { ebpf }) }),
  };
}
