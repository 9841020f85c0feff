import type { Config } from './config/config.ts';
import {
  conditionType,
  type ConnectionTracking,
  type Incident,
  type RulesCondition,
  rulesConditionOf,
} from '../explain/incidents/incidents.ts';
import { type ConditionStore, createConditionStore, type NodeCondition } from './kubernetes/kubernetes.ts';
import type { Clock } from '../base/platform/clock.ts';
import { createProc } from '../base/platform/proc.ts';
import type { ClusterContext } from './cluster.ts';
import type { Ingest } from './ingest.ts';
import type { ApiProblems, Problems } from './problems.ts';
import { type Refusal, timestamp } from '../publish/events/events.ts';
import type { Millis } from '../base/model/log-line.ts';
import { createBackOff } from '../base/platform/rates.ts';
import type { ConntrackHigh } from '../base/model/observation.ts';

interface NodeChecksOptions {
  config: Config;
  context: ClusterContext;
  ingest: Ingest;
  problems: Problems;
  clock: Clock;
}

export interface NodeChecks {
  readonly conntrackLevel: ConntrackLevel;
  /** Call it every few seconds. */
  round: () => void;
}

/** Checks how full connection tracking is, which the kernel logs only when it is full, and writes the Node's condition. */
export function createNodeChecks({ config, context, ingest, problems, clock }: NodeChecksOptions): NodeChecks {
  const { connection, cluster } = context;
  const { incidents } = ingest;
  const conntrackLevel = createConntrackLevel({
    proc: createProc(config.procRoot),
    wasHigh: incidents.tracker.incidents.some(({ code, phase }) => code === 'KN404' && phase === 'open'),
    take: (observation, time) => incidents.take(observation, { source: config.procRoot, time }),
    now: clock.now,
  });
  const nodeCondition = createNodeConditionWriter({
    store: createConditionStore(connection, config.node, conditionType),
    node: config.node,
    incidents: () => incidents.tracker.incidents,
    nodeCount: () => cluster.nodeCount,
    problems: problems.api,
    clock,
    random: Math.random,
  });
  return {
    conntrackLevel,
    round(): void {
      void conntrackLevel.look();
      if (config.nodeCondition && cluster.synced) void nodeCondition.round();
    },
  };
}

/** How often a True condition is written again: its heartbeat shows a program that drains nodes that the agent runs. */
const heartbeatEvery: Millis = 600_000;
/** The shortest time between two writes, because a Node is a large object that many clients watch. */
const shortestPause: Millis = 60_000;
/** Writes are spread over this time for each Node: if a condition begins on 5,000 nodes at once, they write over 75 s. */
const spreadPerNode: Millis = 15;
const retries = { first: 30_000, longest: 600_000 };

interface NodeConditionOptions {
  store: ConditionStore;
  node: string;
  incidents: () => readonly Incident[];
  nodeCount: () => number;
  problems: Pick<ApiProblems, 'nodeCondition'>;
  clock: Pick<Clock, 'now' | 'wall' | 'toWall'>;
  random: () => number;
}

export interface NodeConditionWriter {
  /** Never rejects. */
  round(): Promise<void>;
}

/** Reads the condition once, so that an agent without state clears that of an earlier run, and a correct False is not written again. */
export function createNodeConditionWriter(options: NodeConditionOptions): NodeConditionWriter {
  const { store, node, incidents, nodeCount, problems, clock, random } = options;
  const backOff = createBackOff(retries, random);
  /** Undefined if the Node does not have the condition, or it was not read yet. */
  let known: NodeCondition | undefined;
  let wasRead = false;
  let isBusy = false;
  let notBefore: Millis = -Infinity;
  let due: Millis | undefined;
  let nextHeartbeat: Millis = -Infinity;

  return {
    async round(): Promise<void> {
      if (isBusy || clock.now() < notBefore) return;
      isBusy = true;
      await (wasRead ? keep() : readFirst()).finally(() => (isBusy = false));
    },
  };

  async function readFirst(): Promise<void> {
    if (due === undefined) return plan();
    if (clock.now() < due) return;
    const found = await store.read();
    problems.nodeCondition('list', found.kind === 'read' ? undefined : found);
    if (found.kind === 'refused') return putOff(found);
    backOff.reset();
    [known, wasRead, due] = [found.condition, true, undefined];
    // Another clock may have stamped the heartbeat, so a True condition is written again now.
    nextHeartbeat = clock.now();
    await keep();
  }

  async function keep(): Promise<void> {
    const wanted = rulesConditionOf(incidents(), node);
    const now = clock.now();
    if (isSame(known, wanted)) {
      due = undefined;
      if (wanted.status === 'False' || now < nextHeartbeat) return;
    } else {
      if (due === undefined) plan();
      if (due !== undefined && now < due) return;
    }
    const condition = conditionOf(wanted);
    const answer = await store.write(condition);
    problems.nodeCondition('patch', answer.kind === 'written' ? undefined : answer);
    if (answer.kind === 'refused') return putOff(answer);
    backOff.reset();
    known = condition;
    due = undefined;
    notBefore = clock.now() + shortestPause;
    nextHeartbeat = clock.now() + heartbeatEvery * (0.9 + 0.2 * random());
  }

  function plan(): void {
    due = clock.now() + random() * spreadPerNode * nodeCount();
  }

  function putOff({ retryAfter }: Refusal): void {
    notBefore = clock.now() + Math.max(backOff.next(retryAfter), retries.first / 2);
  }

  function conditionOf({ status, reason, message, since }: RulesCondition): NodeCondition {
    const wall = clock.wall();
    const now = timestamp(wall);
    // A log may have any stamp, so limit the time to the past and to valid dates.
    const changed = timestamp(since === undefined ? wall : Math.min(Math.max(clock.toWall(since) || 0, 0), wall));
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime || changed : changed;
    return { type: conditionType, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
  }
}

function isSame(known: NodeCondition | undefined, { status, reason, message }: RulesCondition): boolean {
  return known?.status === status && known.reason === reason && known.message === message;
}

/** An incident begins at this share. From 95 % on, the kernel evicts connections without replies. */
export const highShare = 0.9;
/** The incident ends below this lower share, so that a table that stays around one share makes one incident. */
const lowShare = 0.8;
const lookEvery: Millis = 30_000;

interface ConntrackLevelOptions {
  proc: Pick<ConnectionTracking, 'conntrack'>;
  /** Whether an incident was open when the last run ended. */
  wasHigh: boolean;
  take: (observation: ConntrackHigh, time: Millis) => void;
  now: () => Millis;
}

export interface ConntrackLevel {
  readonly level: { count: number; max: number } | undefined;
  look(): Promise<void>;
}

/** In a Pod with its own /proc, only the limit of connection tracking can be read, so there is no incident. */
export function createConntrackLevel({ proc, wasHigh, take, now }: ConntrackLevelOptions): ConntrackLevel {
  let isHigh = wasHigh;
  let nextLook: Millis = -Infinity;
  let level: { count: number; max: number } | undefined;

  return {
    get level() {
      return level;
    },
    async look(): Promise<void> {
      if (now() < nextLook) return;
      nextLook = now() + lookEvery;
      const table = await proc.conntrack(undefined);
      const { count, max } = table ?? {};
      level = count === undefined || max === undefined || max === 0 ? undefined : { count, max };
      if (level === undefined) return;
      isHigh = level.count >= (isHigh ? lowShare : highShare) * level.max;
      if (isHigh) take({ kind: 'conntrack-high', ...level }, now());
    },
  };
}
