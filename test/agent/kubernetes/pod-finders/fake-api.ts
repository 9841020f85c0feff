import type { Answer, Connection } from '../../../../src/agent/kubernetes/connection.ts';

export interface FakeApi extends Pick<Connection, 'request'> {
  /** By path; a function is called for each request, a number is the status of a refusal. Other paths give 404. */
  objects: Record<string, unknown>;
  /** Returns the requests since the last call: the path, and the query parameters that select objects. */
  asked: () => string[];
}

/** An API server that answers from a table. */
export function fakeApi(objects: Record<string, unknown> = {}): FakeApi {
  let asked: string[] = [];
  const api: FakeApi = {
    objects,
    asked() {
      const those = asked;
      asked = [];
      return those;
    },
    request(_verb, path, { query = {} } = {}) {
      const selector = query['fieldSelector'];
      const key = selector === undefined ? path : `${path}?${selector}`;
      asked.push(key);
      const found = api.objects[key] ?? 404;
      return Promise.resolve(answerOf(typeof found === 'function' ? (found as () => unknown)() : found));
    },
  };
  return api;
}

function answerOf(found: unknown): Answer {
  if (typeof found !== 'number') return { kind: 'answered', body: found };
  return { kind: 'refused', status: found, reason: '', message: `status ${found}`, retryAfter: undefined };
}

export function podObject(
  name: string,
  addresses: readonly string[],
  more: { namespace?: string; node?: string } = {},
) {
  const { namespace = 'shop', node = 'node-b' } = more;
  return {
    metadata: { namespace, name, uid: `uid-of-${name}` },
    spec: { nodeName: node },
    status: { phase: 'Running', podIPs: addresses.map((ip) => ({ ip })) },
  };
}
