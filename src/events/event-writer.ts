import type { Millis } from '../model/log-line.ts';
import type { Published, Series } from '../model/series.ts';
import type { Clock } from '../platform/clock.ts';
import { component, type CoreEvent, eventOf, timestamp } from './event.ts';
import type { EventStore, Refusal, StoredEvent } from './event-store.ts';

/**
 * Whose count an Event holds: `STATE BASE`, where STATE names a run's memory and BASE is what the Event counts beside it. As
 * long as packets of ours may be among those that it counted when it was found, `STATE BASE COUNT UNTIL`: see `overlap`.
 */
export const stateAnnotation = 'kube-netfilter-tailer/state';

/** Times that an Event is looked for, or made, in one write: somebody may change or delete it in between. */
const maxTries = 3;

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
  /** Events are stamped with it; without it `now` is the wall clock. */
  wallClock?: Pick<Clock, 'fromWall' | 'toWall'>;
}

const unchanged = { fromWall: (stamp: Millis) => stamp, toWall: (time: Millis) => time };

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
  const { store, stateId, now, wallClock: { fromWall, toWall } = unchanged } = options;

  return async (series) => {
    const told = { ...series.published, base: baseBy(series), at: now(), suppressed: series.suppressed };
    const own: Own = {
      count: series.count,
      first: series.first,
      last: series.last,
      told: series.published,
      shared: series.finding.shared === true,
    };
    const event = eventOf(
      { ...series, published: { ...series.published, base: told.base } },
      options.messageOf(series),
      told.at,
      toWall,
    );
    // What the API server is told is on disk first: after a crash nothing told is counted again.
    await options.keep();
    if (told.resourceVersion === undefined) return await create(event, own, told, 1);
    const answer = await store.update(marked(event, told), told.resourceVersion);
    if (answer.kind === 'stored') return written('update', own, told, answer.event);
    if (answer.status === 404) return await beginAnew(event, own, told, 1);
    if (answer.status === 409) return await adopt(event, own, told, 1);
    return { kind: 'refused', verb: 'update', refusal: answer };
  };

  async function create(event: CoreEvent, own: Own, told: Published, tries: number): Promise<Outcome> {
    const answer = await store.create({ ...marked(event, told), lastTimestamp: timestamp(toWall(told.at)) });
    if (answer.kind === 'stored') return written('create', own, told, answer.event);
    // A quota answers 409 too.
    if (answer.status === 409 && tries < maxTries) return await adopt(event, own, told, tries + 1);
    return { kind: 'refused', verb: 'create', refusal: answer };
  }

  /** The Event is gone, and with it what it had told: it begins again with what nobody has been told. */
  async function beginAnew(event: CoreEvent, own: Own, told: Published, tries: number): Promise<Outcome> {
    const { count, at, writes } = own.told;
    if (count === 0) return await create(event, own, told, tries);
    const first = Math.max(own.first, at);
    const anew: Published = { ...told, base: -count, first, overlap: undefined, resourceVersion: undefined };
    if (own.count === count) return { kind: 'written', verb: 'update', packets: 0, told: { ...anew, count, writes } };
    return await create(
      { ...event, count: own.count - count, firstTimestamp: timestamp(toWall(first)) },
      own,
      anew,
      tries,
    );
  }

  async function adopt(event: CoreEvent, own: Own, told: Published, tries: number): Promise<Outcome> {
    const found = await store.read(event.metadata.namespace, event.metadata.name);
    if (found.kind === 'refused') {
      // It was deleted, or has expired, since.
      if (found.status === 404) return await beginAnew(event, own, told, tries);
      return { kind: 'refused', verb: 'read', refusal: found };
    }
    const stored = onSteadyClock(found.event);
    if (stored.component !== component) return { kind: 'foreign', component: stored.component };
    if (own.shared && !isOurs(stored)) return toldByAnother(own, told);
    const joined = { ...told, ...joinedTo(stored, own) };
    const answer = await store.update(marked(onTopOf(stored, event, own, joined), joined), stored.resourceVersion);
    if (answer.kind === 'stored') return written('update', own, joined, answer.event);
    if (answer.status === 409 && tries < maxTries) return await adopt(event, own, told, tries + 1);
    return { kind: 'refused', verb: 'update', refusal: answer };
  }

  /** How our count goes on from what is there. */
  function joinedTo(stored: StoredEvent, { count, first, last }: Own): Pick<Published, 'base' | 'first' | 'overlap'> {
    const began = Math.min(first, stored.firstTimestamp ?? Infinity);
    const [owner, ...numbers] = (stored.annotations[stateAnnotation] ?? '').split(' ');
    const [base = 0, counted, overlapUntil] = numbers.map(Number);
    // Times are cut to seconds.
    const until = stored.lastTimestamp === undefined ? now() : stored.lastTimestamp + 999;
    // An Event that counts more than we remember is of the same hour before the clock was corrected and this program restarted.
    if (owner === stateId && stored.count <= (base || 0) + count) {
      if (counted === undefined || overlapUntil === undefined) {
        // One that was begun anew does not go back to before it was deleted.
        return { base: base || 0, first: base < 0 ? (stored.firstTimestamp ?? first) : began };
      }
      return {
        base: Math.max(0, counted - count),
        first: began,
        overlap: { count: counted, until: fromWall(overlapUntil) },
      };
    }
    // All of ours came after it was written: nothing is counted twice.
    if (first > until) return { base: stored.count, first: began };
    return {
      base: Math.max(0, stored.count - count),
      first: began,
      overlap: last <= until ? { count: stored.count, until } : undefined,
    };
  }

  function isOurs({ annotations }: StoredEvent): boolean {
    return annotations[stateAnnotation]?.split(' ', 1)[0] === stateId;
  }

  function marked(event: CoreEvent, { base, overlap }: Published): CoreEvent {
    const owner = [stateId, base, ...(overlap ? [overlap.count, toWall(overlap.until)] : [])].join(' ');
    return { ...event, metadata: { ...event.metadata, annotations: { [stateAnnotation]: owner } } };
  }

  function onSteadyClock(stored: StoredEvent): StoredEvent {
    const { firstTimestamp: first, lastTimestamp: last } = stored;
    return { ...stored, firstTimestamp: first && fromWall(first), lastTimestamp: last && fromWall(last) };
  }

  function onTopOf(
    stored: StoredEvent,
    event: CoreEvent,
    { count, last }: Own,
    { base, first = last }: Published,
  ): CoreEvent {
    return {
      ...event,
      count: base + count,
      firstTimestamp: timestamp(toWall(first)),
      lastTimestamp: timestamp(toWall(Math.max(last, base === 0 ? -Infinity : (stored.lastTimestamp ?? -Infinity)))),
    };
  }
}

/** A series as it was when its write began; it may be counted further meanwhile. */
interface Own {
  count: number;
  first: Millis;
  last: Millis;
  /** By an earlier write. */
  told: Published;
  /** It is enough when the agent of any node tells it. */
  shared: boolean;
}

/**
 * While ours may be among the packets that the Event counted when it was found, the larger of the two counts is right: it is
 * never too high.
 */
function baseBy({ count, published: { base, overlap } }: Series): number {
  return overlap === undefined ? base : Math.max(0, overlap.count - count);
}

/** Writes after which the next is as far away as it gets: who has nothing to tell need not look more often. */
const manyWrites = 6;

/** The agent of another node has told it for all. It is tried again much later, when that Event may be gone. */
function toldByAnother({ count, told: { writes } }: Own, told: Published): Outcome {
  const next: Published = {
    ...told,
    count,
    writes: Math.max(writes + 1, manyWrites),
    resourceVersion: undefined,
    overlap: undefined,
  };
  return { kind: 'written', verb: 'create', packets: 0, told: next };
}

function written(verb: 'create' | 'update', own: Own, told: Published, { resourceVersion }: StoredEvent): Outcome {
  const { count, last } = own;
  const overlap = told.overlap !== undefined && last <= told.overlap.until ? told.overlap : undefined;
  return {
    kind: 'written',
    verb,
    packets: count - own.told.count,
    told: { ...told, count, writes: own.told.writes + 1, resourceVersion, overlap },
  };
}
