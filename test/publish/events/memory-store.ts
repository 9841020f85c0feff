import { type CoreEvent, identityText } from '../../../src/publish/events/event.ts';
import type { EventStore, Refusal, StoreAnswer } from '../../../src/publish/events/event-writer.ts';

export type Verb = 'create' | 'read' | 'update';

/** A mishap of one request. `before` and `after` may change the store. If they throw, the client gets no answer. */
export interface Mishap {
  before?: () => void;
  /** The answer; the request is not carried out. */
  instead?: Refusal;
  /** The answer, although the request was carried out. */
  answer?: Refusal;
  after?: () => void;
}

/** Events as an API server (1.36) stores them, except for their expiry. */
export interface MemoryStore extends EventStore {
  /** The Events by `namespace/name`. */
  readonly events: ReadonlyMap<string, CoreEvent>;
  /** Verbs of all requests, in order. */
  readonly requests: readonly Verb[];
  /** Stores an Event as another client would. */
  put: (event: CoreEvent) => void;
  /** Changes something in it that is not ours, as another client would. */
  touch: (key: string) => void;
  /** Deletes an Event as a user would, and returns it. */
  remove: (key: string) => CoreEvent | undefined;
}

export function createMemoryStore(mishapOf: (verb: Verb, key: string) => Mishap = () => ({})): MemoryStore {
  const events = new Map<string, { event: CoreEvent; resourceVersion: number }>();
  const requests: Verb[] = [];
  let latest = 100;

  return {
    requests,
    get events() {
      return new Map([...events].map(([key, { event }]) => [key, event]));
    },
    put: (event) => void keep(event),
    touch(key) {
      const kept = events.get(key);
      if (kept) kept.resourceVersion = ++latest;
    },
    remove(key) {
      const kept = events.get(key);
      events.delete(key);
      return kept?.event;
    },
    create: (event) =>
      serve('create', keyOf(event), (key) => {
        const { namespace } = event.metadata;
        if ((event.involvedObject.namespace ?? 'default') !== namespace) return refusal(422, 'Invalid');
        if (events.has(key)) return refusal(409, 'AlreadyExists');
        return keep(event);
      }),
    read: (namespace, name) => serve('read', `${namespace}/${name}`, (key) => found(key) ?? refusal(404, 'NotFound')),
    update: (event, resourceVersion) =>
      serve('update', keyOf(event), (key) => {
        const kept = events.get(key);
        if (kept === undefined) return refusal(404, 'NotFound');
        if (String(kept.resourceVersion) !== resourceVersion) return refusal(409, 'Conflict');
        const { type, count, firstTimestamp, lastTimestamp, message } = event;
        const annotations = { ...kept.event.metadata.annotations, ...event.metadata.annotations };
        const metadata = { ...kept.event.metadata, annotations };
        const changed = { ...kept.event, metadata, type, count, firstTimestamp, lastTimestamp, message };
        return JSON.stringify(changed) === JSON.stringify(kept.event) ? (found(key) as StoreAnswer) : keep(changed);
      }),
  };

  async function serve(
    verb: Verb,
    key: string,
    carryOut: (key: string) => StoreAnswer | Refusal,
  ): Promise<StoreAnswer | Refusal> {
    requests.push(verb);
    const { before, instead, answer, after } = mishapOf(verb, key);
    await Promise.resolve();
    before?.();
    if (instead) return instead;
    const result = carryOut(key);
    after?.();
    return answer ?? result;
  }

  function keep(event: CoreEvent): StoreAnswer {
    const key = keyOf(event);
    events.set(key, { event: structuredClone(event), resourceVersion: ++latest });
    return found(key) as StoreAnswer;
  }

  function found(key: string): StoreAnswer | undefined {
    const kept = events.get(key);
    if (kept === undefined) return undefined;
    const { metadata, source, type, count, firstTimestamp, lastTimestamp } = kept.event;
    return {
      kind: 'stored',
      event: {
        resourceVersion: String(kept.resourceVersion),
        component: source.component,
        host: source.host,
        type,
        identity: identityText(kept.event),
        count: Math.max(0, count),
        firstTimestamp: Date.parse(firstTimestamp),
        lastTimestamp: Date.parse(lastTimestamp),
        annotations: metadata.annotations ?? {},
      },
    };
  }
}

/** A refusal; status 0 means no answer at all. */
export function refusal(status: number, reason = '', retryAfter?: number): Refusal {
  return { kind: 'refused', status, reason, message: `${status} ${reason}`, retryAfter };
}

export function keyOf({ metadata: { namespace, name } }: CoreEvent): string {
  return `${namespace}/${name}`;
}
