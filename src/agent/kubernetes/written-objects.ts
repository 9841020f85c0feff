import {
  type AnyEvent,
  type EventStore,
  identityText,
  type Refusal,
  removableAnnotations,
  type StoreAnswer,
} from '../../publish/events/events.ts';
import type { Answer, Connection } from './connection.ts';
import { at, instant, type Json, list, text } from '../../base/platform/json.ts';

export function createEventStore({ request }: Pick<Connection, 'request'>): EventStore {
  return {
    create: async (event) => storedIn(await request('POST', pathOf(event.metadata.namespace), { body: event })),
    read: async (namespace, name) => storedIn(await request('GET', pathOf(namespace, name))),
    update: async (event, resourceVersion) => {
      const { namespace, name, annotations } = event.metadata;
      const { type, count, firstTimestamp, lastTimestamp, message } = event;
      const metadata = { resourceVersion, annotations: { ...withoutRemovable, ...annotations } };
      const body = { metadata, type, count, firstTimestamp, lastTimestamp, message };
      return storedIn(await request('PATCH', pathOf(namespace, name), { body }));
    },
  };
}

/** In a merge patch, null removes a key. */
const withoutRemovable = Object.fromEntries(removableAnnotations.map((key) => [key, null]));

function pathOf(namespace: string, name?: string): string {
  return `/api/v1/namespaces/${namespace}/events${name === undefined ? '' : `/${name}`}`;
}

function storedIn(answer: Answer): StoreAnswer | Refusal {
  if (answer.kind === 'refused') return answer;
  const event = answer.body as AnyEvent & { metadata?: { resourceVersion?: string } };
  const { metadata, source, type, count, firstTimestamp, lastTimestamp } = event;
  return {
    kind: 'stored',
    event: {
      resourceVersion: metadata?.resourceVersion ?? '',
      component: source?.component ?? '',
      host: source?.host,
      type,
      identity: identityText(event),
      count: typeof count === 'number' && count > 0 ? count : 0,
      firstTimestamp: instant(firstTimestamp),
      lastTimestamp: instant(lastTimestamp),
      annotations: metadata?.annotations ?? {},
    },
  };
}

/** A NodeCondition of core/v1. Times are RFC 3339 in whole seconds. */
export interface NodeCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastHeartbeatTime: string;
  lastTransitionTime: string;
}

export interface ConditionStore {
  /** Needs the right to list Nodes. */
  read(): Promise<{ kind: 'read'; condition: NodeCondition | undefined } | Refusal>;
  /** Needs the right to patch nodes/status. */
  write(condition: NodeCondition): Promise<{ kind: 'written' } | Refusal>;
}

export function createConditionStore(
  { request }: Pick<Connection, 'request'>,
  node: string,
  type: string,
): ConditionStore {
  return {
    async read(): Promise<{ kind: 'read'; condition: NodeCondition | undefined } | Refusal> {
      const answer = await request('GET', '/api/v1/nodes', { query: { fieldSelector: `metadata.name=${node}` } });
      if (answer.kind === 'refused') return answer;
      const [object] = list(at(answer.body, 'items'));
      const found = list(at(object, 'status', 'conditions')).find((each) => at(each, 'type') === type);
      return { kind: 'read', condition: found === undefined ? undefined : conditionIn(found, type) };
    },
    async write(condition: NodeCondition): Promise<{ kind: 'written' } | Refusal> {
      const path = `/api/v1/nodes/${node}/status`;
      // A strategic patch merges conditions by their type. A merge patch would replace the kubelet's.
      const answer = await request('PATCH', path, { body: { status: { conditions: [condition] } }, strategic: true });
      return answer.kind === 'refused' ? answer : { kind: 'written' };
    },
  };
}

function conditionIn(found: Json, type: string): NodeCondition {
  const field = (key: string): string => text(at(found, key)) ?? '';
  return {
    type,
    status: field('status'),
    reason: field('reason'),
    message: field('message'),
    lastHeartbeatTime: field('lastHeartbeatTime'),
    lastTransitionTime: field('lastTransitionTime'),
  };
}
