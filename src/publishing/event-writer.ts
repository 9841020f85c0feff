import type { Millis, Published, Series } from '../model.ts';
import { component, type CoreEvent, eventOf, timestamp } from './event.ts';
import type { EventStore, Refusal, StoredEvent } from './event-store.ts';

/** Whose count an Event holds: `STATE BASE`, where STATE names a run's memory and BASE is what the Event counts beside it. */
export const stateAnnotation = 'kube-netfilter-tailer/state';

/** Somebody else changed the Event between our reading and our writing it, so often in a row that we give up for now. */
const maxConflicts = 3;

/** What became of one write. */
export type Outcome =
  | { kind: 'written'; verb: 'create' | 'update'; packets: number; told: Published }
  | { kind: 'refused'; verb: 'create' | 'update' | 'read'; refusal: Refusal }
  /** There is an Event of that name that is not ours. */
  | { kind: 'foreign'; component: string };

export interface EventWriterOptions {
  store: EventStore;
  messageOf: (series: Series) => string;
  /**
   * Names the memory that counts come from. Two runs with the same memory (a restart) continue each other's counts; a run
   * that has lost it must not overwrite what an earlier one counted.
   */
  stateId: string;
  /** Resolves when all that has been counted up to the call is kept, so that it survives being killed. */
  keep: () => Promise<void>;
  now: () => Millis;
}

/**
 * Writes one series as an Event, once. Counts are absolute and names depend on nothing but the problem and the hour, so a
 * write that is repeated after a crash changes nothing:
 *
 *     POST ── 201 ─▶ done        PATCH ── 200 ─▶ done
 *       └── 409 ─▶ adopt           ├── 409 ─▶ adopt
 *                                  └── 404 ─▶ POST anew with what has not been told
 *     adopt: GET, see whose count it is, PATCH with its resourceVersion
 */
export function createEventWriter(options: EventWriterOptions): (series: Series) => Promise<Outcome> {
  const { store, stateId, now } = options;

  return async (series) => {
    const { published } = series;
    const at = now();
    const count = series.count;
    const event = eventOf(series, options.messageOf(series), at);
    const own = { event, count, first: series.first, last: series.last, at };
    // What the API server is told is on disk first: after a crash nothing told is counted again.
    await options.keep();
    if (published.resourceVersion === undefined) return await create(own, published);
    const answer = await store.update(marked(event, published.base), published.resourceVersion);
    if (answer.kind === 'stored') return written('update', own, published, published.base, answer.event);
    if (answer.status === 404) return await create(anew(own, published), { ...published, base: -published.count });
    if (answer.status === 409) return await adopt(own, published);
    return { kind: 'refused', verb: 'update', refusal: answer };
  };

  async function create(own: Own, published: Published): Promise<Outcome> {
    const answer = await store.create(marked(own.event, published.base));
    if (answer.kind === 'stored') return written('create', own, published, published.base, answer.event);
    if (answer.status === 409) return await adopt(own, published);
    return { kind: 'refused', verb: 'create', refusal: answer };
  }

  async function adopt(own: Own, published: Published): Promise<Outcome> {
    const { namespace, name } = own.event.metadata;
    let last: Refusal | undefined;
    for (let tries = 0; tries < maxConflicts; tries++) {
      const found = await store.read(namespace, name);
      if (found.kind === 'refused') {
        // It was deleted, or has expired, since.
        if (found.status === 404) return await create(anew(own, published), { ...published, base: -published.count });
        return { kind: 'refused', verb: 'read', refusal: found };
      }
      const stored = found.event;
      if (stored.component !== component) return { kind: 'foreign', component: stored.component };
      const base = baseOf(stored, own);
      const answer = await store.update(marked(onTopOf(stored, own, base), base), stored.resourceVersion);
      if (answer.kind === 'stored') return written('update', own, published, base, answer.event);
      last = answer;
      if (answer.status !== 409) break;
    }
    return { kind: 'refused', verb: 'update', refusal: last as Refusal };
  }

  /** What the Event counts that this memory knows nothing of. */
  function baseOf(stored: StoredEvent, { count, first }: Own): number {
    const [owner, base] = (stored.annotations[stateAnnotation] ?? '').split(' ');
    if (owner === stateId) return Number(base) || 0;
    // All of ours came after it was written (times are cut to seconds): nothing is counted twice.
    if (stored.lastTimestamp !== undefined && first >= stored.lastTimestamp + 1000) return stored.count;
    // Some of ours may be among what it counts. The larger of the two is a count that is never too high.
    return Math.max(0, stored.count - count);
  }

  function marked(event: CoreEvent, base: number): CoreEvent {
    return {
      ...event,
      metadata: { ...event.metadata, annotations: { [stateAnnotation]: `${stateId} ${base}` } },
    };
  }
}

/** A series as it was when its write began; it may be counted further meanwhile. */
interface Own {
  event: CoreEvent;
  count: number;
  first: Millis;
  last: Millis;
  at: Millis;
}

function written(
  verb: 'create' | 'update',
  { count, at }: Own,
  published: Published,
  base: number,
  { resourceVersion }: StoredEvent,
): Outcome {
  return {
    kind: 'written',
    verb,
    packets: count - published.count,
    told: { count, writes: published.writes + 1, at, base, resourceVersion },
  };
}

/** The Event of what has not been told, since the one that told the rest is gone. */
function anew(own: Own, { count: told, at }: Published): Own {
  if (told === 0) return own;
  const event = {
    ...own.event,
    count: own.count - told,
    firstTimestamp: timestamp(Math.max(own.first, at)),
    lastTimestamp: timestamp(own.at),
  };
  return { ...own, event };
}

function onTopOf(stored: StoredEvent, own: Own, base: number): CoreEvent {
  return {
    ...own.event,
    count: base + own.count,
    firstTimestamp: timestamp(Math.min(own.first, stored.firstTimestamp ?? Infinity)),
    lastTimestamp: timestamp(Math.max(own.last, base === 0 ? -Infinity : (stored.lastTimestamp ?? -Infinity))),
  };
}
