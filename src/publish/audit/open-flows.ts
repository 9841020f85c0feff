import type { Millis } from '../../base/model/log-line.ts';
import type { StateChange } from '../../base/platform/keyed-changes.ts';
import { fieldsThat, type FlowRecord } from './fields.ts';
import type { AuditedFlow } from './flow.ts';
import { createFlowRoom, type FlowLimits } from './flow-room.ts';
import { headOf, stampOf } from './record.ts';

/** A flow in an open interval. Plain JSON. */
export interface OpenFlow {
  start: Millis;
  key: string;
  subject: string;
  namespace: string;
  fields: FlowRecord;
  packets: number;
  first: Millis;
  last: Millis;
  /** More addresses of each end, apart from the one in `fields`. */
  others: Record<'source' | 'destination', string[]>;
}

const mostAddresses = 255;

const mayDiffer = fieldsThat(({ varies }) => varies === true);

export interface OpenFlows {
  readonly size: number;
  all: () => MapIterator<OpenFlow>;
  of(start: Millis, given: AuditedFlow, time: Millis): OpenFlow;
  count: (flow: OpenFlow, packets: number, time: Millis) => void;
  remove: (flow: OpenFlow) => void;
  takeChanges(): StateChange[];
  entries(): Generator<StateChange>;
}

/** Keeps the flows of open intervals, and tracks changes that are not on disk yet. */
export function createOpenFlows(limits: FlowLimits, restored: readonly OpenFlow[] = []): OpenFlows {
  const flows = new Map(restored.map((flow) => [idOf(flow), flow]));
  const room = createFlowRoom<OpenFlow>(limits, (start, key) => flows.has(idOf({ start, key })));
  for (const flow of restored) room.enter(flow);
  const changed = new Map<OpenFlow, 'new' | 'counted'>();
  const removed: OpenFlow[] = [];

  return {
    get size() {
      return flows.size;
    },
    all: () => flows.values(),
    of(start: Millis, given: AuditedFlow, time: Millis): OpenFlow {
      const known = flows.get(idOf({ start, key: given.key }));
      if (known !== undefined) return take(known, given.fields);
      const { flow, evicted } = room.find(start, given);
      for (const [old, joined] of evicted) moveInto(old, joined);
      return take(flows.get(idOf({ start, key: flow.key })) ?? add(start, flow, time), flow.fields);
    },
    count,
    remove,
    takeChanges(): StateChange[] {
      const changes: StateChange[] = removed.splice(0).map((flow) => ['remove', `flow ${idOf(flow)}`]);
      for (const [flow, how] of changed) {
        const { packets, first, last } = flow;
        const key = `flow ${idOf(flow)}`;
        changes.push(how === 'new' ? ['set', key, copy(flow)] : ['merge', key, { packets, first, last }]);
      }
      changed.clear();
      return changes;
    },
    *entries(): Generator<StateChange> {
      for (const [id, flow] of flows) yield ['set', `flow ${id}`, copy(flow)];
    },
  };

  function count(flow: OpenFlow, packets: number, time: Millis): void {
    flow.packets += packets;
    if (time > flow.last) flow.last = time;
    else if (time < flow.first) flow.first = time;
    if (!changed.has(flow)) changed.set(flow, 'counted');
  }

  function remove(flow: OpenFlow): void {
    flows.delete(idOf(flow));
    room.leave(flow);
    changed.delete(flow);
    removed.push(flow);
  }

  function moveInto(old: OpenFlow, joined: AuditedFlow): void {
    const { start, packets, first, last } = old;
    remove(old);
    const flow = flows.get(idOf({ start, key: joined.key })) ?? add(start, joined, first);
    count(flow, packets, first);
    count(flow, 0, last);
    // A meaning may still lead to the old flow. With 0 packets, it is not used any more.
    old.packets = 0;
  }

  function take(flow: OpenFlow, fields: FlowRecord): OpenFlow {
    if (join(flow, fields)) changed.set(flow, 'new');
    return flow;
  }

  function add(start: Millis, given: AuditedFlow, time: Millis): OpenFlow {
    const flow = newFlow(start, given, time);
    flows.set(idOf(flow), flow);
    room.enter(flow);
    changed.set(flow, 'new');
    return flow;
  }
}

function newFlow(start: Millis, { key, subject, namespace, fields }: AuditedFlow, time: Millis): OpenFlow {
  return {
    start,
    key,
    subject,
    namespace,
    fields: { ...fields },
    packets: 0,
    first: time,
    last: time,
    others: { source: [], destination: [] },
  };
}

/** A flow is written to disk while counting continues. */
function copy(flow: OpenFlow): OpenFlow {
  const {
    fields,
    others: { source, destination },
  } = flow;
  return {
    ...flow,
    fields: { ...fields },
    others: { source: [...source], destination: [...destination] },
  };
}

export interface RecordContext {
  interval: Millis;
  cluster: string | undefined;
  /** The number of the closing, because late lines make another record of the same flow, with another id. */
  closing: number;
  atLeast: boolean;
  toWall: (time: Millis) => Millis;
}

export function recordOf(flow: OpenFlow, { interval, cluster, closing, atLeast, toWall }: RecordContext): FlowRecord {
  const { start, key, packets, first, last, others } = flow;
  const { 'event.name': name, 'event.action': action, ...fields } = flow.fields;
  const counts: FlowRecord = isGap(flow)
    ? { 'log.records_lost': packets || undefined }
    : { 'network.packets': packets, 'network.packets_at_least': atLeast || undefined };
  return {
    ...headOf(toWall(start + interval), name, [cluster, fields['k8s.node.name'], key, start, closing]),
    'event.action': action,
    'event.start': stampOf(toWall(first)),
    'event.end': stampOf(toWall(last)),
    'k8s.cluster.name': cluster,
    ...counts,
    ...fields,
    ...distinctOf('source', others.source),
    ...distinctOf('destination', others.destination),
  };
}

export function isGap({ fields }: Pick<OpenFlow, 'fields'>): boolean {
  return fields['event.name'] === 'network.flow.gap';
}

function distinctOf(end: 'source' | 'destination', others: readonly string[]): FlowRecord {
  if (others.length === 0) return {};
  return {
    [`${end}.addresses`]: 1 + others.length,
    [`${end}.addresses_at_least`]: others.length >= mostAddresses || undefined,
  };
}

function idOf({ start, key }: Pick<OpenFlow, 'start' | 'key'>): string {
  return `${start} ${key}`;
}

/** Merges the fields of more packets: a field with several values is removed, addresses are collected. Returns whether the flow changed. */
function join(flow: OpenFlow, fields: FlowRecord): boolean {
  let hasChanged = false;
  for (const name of mayDiffer) {
    if (flow.fields[name] === undefined || flow.fields[name] === fields[name]) continue;
    delete flow.fields[name];
    hasChanged = true;
  }
  for (const end of ['source', 'destination'] as const) {
    const address = fields[`${end}.address`];
    const others = flow.others[end];
    if (address === undefined || address === flow.fields[`${end}.address`]) continue;
    if (others.length >= mostAddresses || others.includes(address)) continue;
    others.push(address);
    hasChanged = true;
  }
  return hasChanged;
}
