import type { Refusal } from '../events/events.ts';
import { at, type Json, list, text } from '../platform/json.ts';
import type { Connection } from './connection.ts';

/** core/v1 NodeCondition; times are RFC 3339 in whole seconds. */
export interface NodeCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
  lastHeartbeatTime: string;
  lastTransitionTime: string;
}

export type ConditionRead = { kind: 'read'; condition: NodeCondition | undefined } | Refusal;

/** One condition of one Node, in its status. */
export interface ConditionStore {
  /** Undefined where the Node has none of that type. Needs the right to list Nodes. */
  read: () => Promise<ConditionRead>;
  /** Sets it and leaves all others as they are. Needs the right to patch nodes/status. */
  write: (condition: NodeCondition) => Promise<{ kind: 'written' } | Refusal>;
}

export function createConditionStore(
  { request }: Pick<Connection, 'request'>,
  node: string,
  type: string,
): ConditionStore {
  return {
    async read() {
      const answer = await request('GET', '/api/v1/nodes', { query: { fieldSelector: `metadata.name=${node}` } });
      if (answer.kind === 'refused') return answer;
      const [object] = list(at(answer.body, 'items'));
      const found = list(at(object, 'status', 'conditions')).find((each) => at(each, 'type') === type);
      return { kind: 'read', condition: found === undefined ? undefined : conditionIn(found, type) };
    },
    async write(condition) {
      const path = `/api/v1/nodes/${node}/status`;
      // Conditions are merged by their types; a merge patch would replace those of the kubelet.
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
