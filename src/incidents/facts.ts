import type { NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import { type Schedule, schedule as systemSchedule } from '../platform/timer.ts';
import { causeOf } from './catalogue/catalogue.ts';
import type { Incident } from './incident.ts';
import type { Recent } from './tracker/recent.ts';

/** Sources of facts about the node, beside its logs; a missing one is not asked. */
export interface FactSources {
  felix?: () => NodeFacts['felix'] | Promise<NodeFacts['felix']>;
  /** Delays the question for `felix`, because all nodes of a cluster may ask at the same moment; by default not at all. */
  felixDelay?: () => Millis;
  /** The contents of /proc, and the clock that stamps the lines. */
  proc?: ConnectionTracking & { now: () => Millis };
  /** Linux's, as uname prints it. */
  kernel?: string;
  kubeProxyHere?: () => boolean | undefined;
  /** `shop/crawler-0`: who has an address now. */
  nameOf?: (address: string) => string | undefined;
  /** Looks up what is behind the Services of these chains. */
  prepareChains?: (chains: readonly string[]) => Promise<void>;
  /** Times how long they may take; by default with the process's timers. */
  schedule?: Schedule;
}

/** Reads the table of the host, or of the network namespace with that inode. */
export interface ConnectionTracking {
  conntrack: (netns: number | undefined) => Promise<NodeFacts['conntrack']>;
  topSources: (
    netns: number | undefined,
  ) => Promise<{ top: readonly { address: string; connections: number }[] } | undefined>;
  /** Uid of the Pod that a network namespace is of. */
  podOf: (netns: number) => Promise<string | undefined>;
}

type FelixAnswer = ReturnType<NonNullable<FactSources['felix']>>;

/** Everything else may take so long once `felix` is asked; then the incident is published without. */
const timeout: Millis = 1000;

/** Longer than kube-proxy takes to write its rules again (5 s): until then no Event could be written, either. */
const felixTimeout: Millis = 10_000;
const felixPause: Millis = 1000;

/** Asks only what bears on the cause, all at once. What is late or fails is undefined; never throws or rejects. */
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

  /** Asks again where the API server does not answer: its own address is a Service, whose rules may be what is missing. */
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
  // Then it is not the host's table that is full, unless it was some time ago.
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

/** A namespace of its own has a table of its own: the host and other Pods are not affected. */
function isOfNamespaces({ code, subjects }: Incident): boolean {
  return causeOf(code).asks === 'conntrack' && subjects.length > 0 && subjects.every((subject) => /\d/.test(subject));
}

/** The inode in `4026532317` or `netns 4026532317`; undefined: the host's, or more than one. */
function namespaceIn(subjects: readonly string[]): number | undefined {
  if (subjects.length !== 1) return undefined;
  const [inode] = /\d{1,10}/.exec(subjects[0] ?? '') ?? [];
  return inode === undefined ? undefined : Number(inode);
}
