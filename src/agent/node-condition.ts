import type { Refusal } from '../events/event-store.ts';
import { timestamp } from '../events/event.ts';
import type { Incident } from '../incidents/incident.ts';
import { conditionType, type RulesCondition, rulesConditionOf } from '../incidents/node-condition.ts';
import type { ConditionStore, NodeCondition } from '../kubernetes/node-condition.ts';
import type { Millis } from '../model/log-line.ts';
import { createBackOff } from '../platform/back-off.ts';
import type { Clock } from '../platform/clock.ts';

/** While it is True it is written again, so that who drains nodes sees that the agent still runs. */
const heartbeatEvery: Millis = 600_000;
/** Two writes are at least so far apart: a Node is a large object that many watch. */
const shortestPause: Millis = 60_000;
/** For each Node of the cluster: what begins on 5,000 nodes at once is written over 75 s. */
const spreadPerNode: Millis = 15;
const retries = { first: 30_000, longest: 600_000 };

export interface NodeConditionOptions {
  store: ConditionStore;
  node: string;
  incidents: () => readonly Incident[];
  /** How many Nodes the cluster has, once it is known. */
  nodeCount: () => number;
  /** Undefined: it was done. */
  onRead: (refusal: Refusal | undefined) => void;
  onWritten: (refusal: Refusal | undefined) => void;
  clock: Pick<Clock, 'now' | 'wall' | 'toWall'>;
  random: () => number;
}

export type NodeConditionWriter = ReturnType<typeof createNodeConditionWriter>;

/**
 * Keeps the condition of this Node as the open incidents have it. What the Node has is read once after a start: an agent that has lost its
 * state clears what an earlier run set, and one that starts on a node without an incident writes nothing.
 */
export function createNodeConditionWriter(options: NodeConditionOptions) {
  const { store, node, incidents, nodeCount, onRead, onWritten, clock, random } = options;
  const backOff = createBackOff(retries, random);
  /** What the Node has; undefined: it has none, or it was not read yet. */
  let known: NodeCondition | undefined;
  let wasRead = false;
  let isBusy = false;
  /** When the next write may be. */
  let notBefore: Millis = -Infinity;
  /** When a change that was seen is written. */
  let due: Millis | undefined;
  let nextHeartbeat: Millis = -Infinity;

  return {
    /** Called every few seconds: does what is due. Resolves when it is done; never rejects. */
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
    onRead(found.kind === 'read' ? undefined : found);
    if (found.kind === 'refused') return putOff(found);
    backOff.reset();
    [known, wasRead, due] = [found.condition, true, undefined];
    // How old its heartbeat is, the next round sees; the clock that stamped it may be another one.
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
    onWritten(answer.kind === 'written' ? undefined : answer);
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
    // A log may have any stamp: it did not begin in the future, nor before there were dates.
    const changed = timestamp(since === undefined ? wall : Math.min(Math.max(clock.toWall(since) || 0, 0), wall));
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime || changed : changed;
    return { type: conditionType, status, reason, message, lastHeartbeatTime: now, lastTransitionTime };
  }
}

function isSame(known: NodeCondition | undefined, { status, reason, message }: RulesCondition): boolean {
  return known?.status === status && known.reason === reason && known.message === message;
}
