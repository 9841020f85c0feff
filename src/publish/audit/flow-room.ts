import type { Millis } from '../../base/model/log-line.ts';
import { createGroups } from '../../base/platform/groups.ts';
import type { FlowRecord } from './fields.ts';
import type { AuditedFlow } from './flow.ts';

export interface FlowLimits {
  /** The most flows in all open intervals. When they are used up, Namespaces share them equally. */
  total: number;
  /** The most flows of one workload in one interval. One more flow counts the rest. */
  perSubject: number;
  /** The most flows that count the rest of a Namespace, in addition to `total`. Beyond them, one flow counts the rest of all Namespaces. */
  joined: number;
}

export const defaultFlowLimits: FlowLimits = { total: 5000, perSubject: 500, joined: 1000 };

type OpenRoomFlow = AuditedFlow & { start: Millis };

export interface FlowPlacement<F> {
  /** The flow itself, or the flow that counts its packets. */
  flow: AuditedFlow;
  /** Flows that are removed to make room, each with the flow that takes over its count. */
  evicted: readonly (readonly [old: F, joined: AuditedFlow])[];
}

export interface FlowRoom<F extends OpenRoomFlow> {
  enter(flow: F): void;
  leave(flow: F): void;
  find(start: Millis, given: AuditedFlow): FlowPlacement<F>;
}

/** Decides which flows are counted separately. Others are joined by workload, by Namespace, or all together. */
export function createFlowRoom<F extends OpenRoomFlow>(
  { total, perSubject, joined: mostJoined }: FlowLimits,
  isHeld: (start: Millis, key: string) => boolean,
): FlowRoom<F> {
  const countsBySubject = new Map<string, number>();
  const namespaces = createGroups<F>();
  let own = 0;
  let joined = 0;
  /** The flows of the largest Namespace; undefined if another one may be the largest now. */
  let largest: ReadonlySet<F> | undefined;

  return {
    enter(flow: F): void {
      if (isJoined(flow)) joined++;
      if (!isOwn(flow)) return;
      own++;
      largest = undefined;
      namespaces.add(flow.namespace, flow);
      countsBySubject.set(subjectKey(flow), (countsBySubject.get(subjectKey(flow)) ?? 0) + 1);
    },
    leave(flow: F): void {
      if (isJoined(flow)) joined--;
      if (!isOwn(flow)) return;
      own--;
      largest = undefined;
      namespaces.remove(flow.namespace, flow);
      const count = (countsBySubject.get(subjectKey(flow)) ?? 0) - 1;
      if (count > 0) countsBySubject.set(subjectKey(flow), count);
      else countsBySubject.delete(subjectKey(flow));
    },
    find(start: Millis, given: AuditedFlow): FlowPlacement<F> {
      if (!isOwn(given)) return { flow: given, evicted: [] };
      const isOverLimit = (countsBySubject.get(subjectKey({ start, subject: given.subject })) ?? 0) >= perSubject;
      const flow = isOverLimit ? joinSubject(given) : given;
      if (own < total || isHeld(start, flow.key)) return { flow, evicted: [] };
      largest ??= largestNamespace();
      const excess = largest.size - (namespaces.all.get(flow.namespace)?.size ?? 0);
      if (excess < 2) return { flow: joinNamespace(start, flow), evicted: [] };
      // Removes several at once, because finding the largest Namespace takes time; the newest, so that flows from before a flood stay.
      const evicted = [...largest].slice(-Math.ceil(excess / 16));
      return { flow, evicted: evicted.map((old) => [old, joinNamespace(old.start, old)]) };
    },
  };

  function largestNamespace(): ReadonlySet<F> {
    let most: ReadonlySet<F> = new Set();
    for (const flows of namespaces.all.values()) if (flows.size > most.size) most = flows;
    return most;
  }

  function joinNamespace(start: Millis, flow: AuditedFlow): AuditedFlow {
    const found = joinedFlow(flow, ['k8s.namespace.name']);
    return flow.namespace === '' || (joined >= mostJoined && !isHeld(start, found.key)) ? joinAll(flow) : found;
  }
}

function subjectKey({ start, subject }: Pick<OpenRoomFlow, 'start' | 'subject'>): string {
  return `${start} ${subject}`;
}

/** The fields that a joined flow keeps of a workload. Its Pods and addresses are merged as in any flow. */
const workloadFields = [
  'address',
  'k8s.namespace.name',
  'k8s.pod.name',
  'k8s.owner.kind',
  'k8s.owner.name',
  'role',
  'evidence',
] as const;

function joinSubject(flow: AuditedFlow): AuditedFlow {
  if (flow.subject === '') return joinAll(flow);
  return { ...joinedFlow(flow, workloadFields), subject: flow.subject };
}

function joinAll(flow: AuditedFlow): AuditedFlow {
  return { ...joinedFlow(flow, []), namespace: '' };
}

/** A joined flow has the named fields of the subject, but no other end, port or rule. */
function joinedFlow(
  { subject, namespace, fields }: AuditedFlow,
  kept: readonly (typeof workloadFields)[number][],
): AuditedFlow {
  const end = fields['source.kind'] === 'Pod' ? 'source' : 'destination';
  const all = kept.length === 0;
  const owner = all ? [] : kept.length === 1 ? [namespace, end] : [namespace, end, subject];
  return {
    key: JSON.stringify(['joined', fields['event.action'], fields['k8s.node.name'], ...owner]),
    subject: '',
    namespace,
    fields: {
      'event.name': fields['event.name'],
      'event.action': fields['event.action'],
      'k8s.node.name': fields['k8s.node.name'],
      'source.kind': 'other',
      'destination.kind': 'other',
      ...(!all && { [`${end}.kind`]: 'Pod' }),
      ...(Object.fromEntries(kept.map((name) => [`${end}.${name}`, fields[`${end}.${name}`]])) as FlowRecord),
    },
  };
}

/** Returns whether the flow counts the rest of a Namespace, or of everything. */
function isJoined({ key, subject }: AuditedFlow): boolean {
  return subject === '' && key.startsWith('["joined"');
}

/** Returns whether the flow takes room. Gaps take none, because they are few and no other record has their information. */
function isOwn(flow: AuditedFlow): boolean {
  return !isJoined(flow) && flow.fields['event.name'] !== 'network.flow.gap';
}
