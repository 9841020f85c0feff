import { randomBytes } from 'node:crypto';
import type { Millis } from '../../base/model/log-line.ts';
import { type PublishedEvent, type Series, writeIntervals, type WrittenEvent } from '../../base/model/series.ts';
import { denierOf } from './denial.ts';
import {
  annotationPrefix,
  type CoreEvent,
  eventOf,
  type EventText,
  identityText,
  maxCount,
  timestamp,
} from './event.ts';

/** Between two tries, the Event may be changed or deleted. */
const maxTries = 3;

export type WriteOutcome =
  | { kind: 'written'; verb: 'create' | 'update'; packets: number; published: WrittenEvent }
  | { kind: 'refused'; verb: 'create' | 'update' | 'read'; refusal: Refusal }
  /** Other objects have both names of the Event. */
  | { kind: 'foreign'; component: string };

export interface EventWriterOptions {
  store: EventStore;
  /** Must settle within a limited time, because an Event waits for it. */
  messageOf: (series: Series) => string | EventText | Promise<EventText>;
  /** Identifies the saved state that counts come from. A run with another state must not overwrite the counts of an earlier run. */
  stateId: string;
  now: () => Millis;
  /** Converts a time of `now` to the wall clock, which stamps Events. By default, `now` is the wall clock. */
  toWall?: (time: Millis) => Millis;
}

/** One write of a series. All times are of the wall clock. */
interface Attempt {
  /** A copy, because counting continues meanwhile. */
  series: Series;
  event: CoreEvent;
  published: WrittenEvent;
  tries: number;
}

/**
 * Writes one series as an Event, once. The series must be on disk. Counts are absolute, and names depend only on the problem, the node and the
 * hour, so a write that is repeated after a crash changes nothing:
 *
 *     POST ── 201 ─▶ done        PATCH ── 200 ─▶ done
 *       └── 409 ─▶ adopt           ├── 409 ─▶ adopt
 *                                  └── 404 ─▶ POST again with what has not been published
 *     adopt: GET, see who counted, PATCH with the resourceVersion of the answer
 *       └── it is another Event, or the PATCH is denied ─▶ elsewhere: POST under a name that nobody could know before
 */
export function createEventWriter(options: EventWriterOptions): (series: Series) => Promise<WriteOutcome> {
  const { store, messageOf, stateId, now, toWall = (time) => time } = options;

  return async (given) => {
    const message = await messageOf(given);
    const at = now();
    const ahead = toWall(at) - at;
    const series = moved(given, ahead);
    const base = baseOf(series);
    const published = { ...series.published, base, at: at + ahead, suppressed: series.suppressed };
    const event = eventOf({ ...series, published: { ...series.published, base } }, message, published.at);
    const outcome = await write({ series, event, published, tries: maxTries });
    return outcome.kind === 'written' ? { ...outcome, published: publishedAt(outcome.published, at, -ahead) } : outcome;
  };

  async function write(attempt: Attempt): Promise<WriteOutcome> {
    const { event, published } = attempt;
    if (published.resourceVersion === undefined) return await create(attempt);
    const answer = await store.update(marked(event, published), published.resourceVersion);
    if (answer.kind === 'stored') return written('update', attempt, published, answer.event);
    if (answer.status === 404) return await beginAgain(attempt);
    if (answer.status === 409) return await adopt(attempt);
    return { kind: 'refused', verb: 'update', refusal: answer };
  }

  async function create(attempt: Attempt): Promise<WriteOutcome> {
    const { event, published, tries } = attempt;
    const answer = await store.create({ ...marked(event, published), lastTimestamp: timestamp(published.at) });
    if (answer.kind === 'stored') return written('create', attempt, published, answer.event);
    // A 409 may also come from a quota: then `adopt` finds no Event, and creates it again.
    if (answer.status === 409 && tries > 1) return await adopt({ ...attempt, tries: tries - 1 });
    return { kind: 'refused', verb: 'create', refusal: answer };
  }

  /** Creates a new Event with the unpublished packets, because the old one and its count are gone. */
  async function beginAgain(attempt: Attempt): Promise<WriteOutcome> {
    const { series, event } = attempt;
    const { count, at, writes } = series.published;
    if (count === 0) return await create(attempt);
    const first = Math.max(series.first, at ?? 0);
    const published = { ...attempt.published, base: -count, first, overlap: undefined, resourceVersion: undefined };
    if (series.count === count)
      return { kind: 'written', verb: 'update', packets: 0, published: { ...published, count, writes } };
    const remaining = { ...event, count: Math.min(series.count - count, maxCount), firstTimestamp: timestamp(first) };
    return await create({ ...attempt, event: remaining, published });
  }

  async function adopt(attempt: Attempt): Promise<WriteOutcome> {
    const { series, event, tries } = attempt;
    const found = await store.read(event.metadata.namespace, event.metadata.name);
    if (found.kind === 'refused') {
      if (found.status === 404) return await beginAgain(attempt);
      return { kind: 'refused', verb: 'read', refusal: found };
    }
    const stored = found.event;
    if (!isSame(attempt, stored)) return await elsewhere(attempt, { kind: 'foreign', component: stored.component });
    if (series.finding.shared === true && !isOwned(stored, stateId)) return publishedByAnother(attempt);
    const published = { ...attempt.published, ...continuationOf(stored, series, stateId, attempt.published.at) };
    const answer = await store.update(marked(onTopOf(stored, attempt, published), published), stored.resourceVersion);
    if (answer.kind === 'stored') return written('update', attempt, published, answer.event);
    if (answer.status === 409 && tries > 1) return await adopt({ ...attempt, tries: tries - 1 });
    const refused: WriteOutcome = { kind: 'refused', verb: 'update', refusal: answer };
    // Additions to the Event may be the reason, such as a label that a policy forbids, or annotations up to the limit.
    const isForItself = denierOf(answer) !== undefined || [400, 413, 422].includes(answer.status);
    return isForItself ? await elsewhere(attempt, refused) : refused;
  }

  /** A user who may create Events can use the name of one of ours first. Then ours counts as deleted. */
  async function elsewhere(attempt: Attempt, otherwise: WriteOutcome): Promise<WriteOutcome> {
    const { event, published, tries } = attempt;
    if (tries === 1) return otherwise;
    const alias = randomBytes(10).toString('hex');
    const metadata = { ...event.metadata, name: event.metadata.name.slice(0, -alias.length) + alias };
    return await beginAgain({
      ...attempt,
      event: { ...event, metadata },
      published: { ...published, alias },
      tries: tries - 1,
    });
  }

  function marked(event: CoreEvent, published: PublishedEvent): CoreEvent {
    const annotations = { ...event.metadata.annotations, [stateAnnotation]: annotationOf(stateId, published) };
    return { ...event, metadata: { ...event.metadata, annotations } };
  }
}

function moved(series: Series, ahead: Millis): Series {
  const { first, last, published } = series;
  const at = published.at === null ? null : published.at + ahead;
  return { ...series, first: first + ahead, last: last + ahead, published: publishedAt(published, at, ahead) };
}

function publishedAt<At extends Millis | null>(
  published: PublishedEvent,
  at: At,
  ahead: Millis,
): PublishedEvent & { at: At } {
  const { first, overlap } = published;
  return {
    ...published,
    at,
    first: first === undefined ? undefined : first + ahead,
    overlap: overlap && { ...overlap, until: overlap.until + ahead },
  };
}

/** Another node's agent has already published the Event for all nodes. This series is written again much later, when that Event may be gone. */
function publishedByAnother({ series: { count, published }, published: next }: Attempt): WriteOutcome {
  // After as many writes as there are intervals, the longest one applies.
  const writes = Math.max(published.writes + 1, writeIntervals.length);
  const kept = { ...next, count, writes, resourceVersion: undefined, overlap: undefined };
  return { kind: 'written', verb: 'create', packets: 0, published: kept };
}

function written(
  verb: 'create' | 'update',
  { series }: Attempt,
  published: WrittenEvent,
  { resourceVersion }: StoredEvent,
): WriteOutcome {
  const { count, last, published: before } = series;
  const overlap = published.overlap !== undefined && last <= published.overlap.until ? published.overlap : undefined;
  return {
    kind: 'written',
    verb,
    packets: count - before.count,
    published: { ...published, count, writes: before.writes + 1, resourceVersion, overlap },
  };
}

function onTopOf(stored: StoredEvent, { series, event }: Attempt, { base, first }: PublishedEvent): CoreEvent {
  const { count, last } = series;
  return {
    ...event,
    count: Math.min(base + count, maxCount),
    firstTimestamp: timestamp(first ?? last),
    lastTimestamp: timestamp(Math.max(last, base === 0 ? -Infinity : (stored.lastTimestamp ?? -Infinity))),
  };
}

/** `STATE BASE`, or `STATE BASE COUNT UNTIL` while counts overlap: the `stateId`, the packets that another state counted, `overlap`. */
export const stateAnnotation = `${annotationPrefix}state`;

type Composition = Pick<PublishedEvent, 'base' | 'first' | 'overlap'>;

function annotationOf(stateId: string, { base, overlap }: Composition): string {
  return [stateId, base, ...(overlap ? [overlap.count, overlap.until] : [])].join(' ');
}

function isSame({ series, event }: Attempt, { identity, host, type }: StoredEvent): boolean {
  if (identity !== identityText(event)) return false;
  // Any node's agent may publish an Event for all nodes. The others leave it unchanged, so every field must be right.
  return series.finding.shared === true ? type === event.type : host === event.source.host;
}

function isOwned({ annotations }: StoredEvent, stateId: string): boolean {
  return annotations[stateAnnotation]?.split(' ', 1)[0] === stateId;
}

/** A user who may create Events can write any text there. */
function numbersIn({ annotations }: StoredEvent): number[] {
  const [, ...numbers] = (annotations[stateAnnotation] ?? '').split(' ').map(Number);
  const [base = 0, counted = 0] = numbers;
  const isValid =
    numbers.every(Number.isSafeInteger) && Math.abs(base) <= maxCount && counted >= 0 && counted <= maxCount;
  return isValid ? numbers : [];
}

function continuationOf(
  stored: StoredEvent,
  { count, first, last }: Pick<Series, 'count' | 'first' | 'last'>,
  stateId: string,
  now: Millis,
): Composition {
  const began = Math.min(first, stored.firstTimestamp ?? Infinity);
  const [base = 0, counted, overlapUntil] = numbersIn(stored);
  // Times are cut to whole seconds, so the last packet may be up to a second later.
  const until = stored.lastTimestamp === undefined ? now : stored.lastTimestamp + 999;
  // An Event of ours with a higher count is from this hour, but from before the clock was corrected and the agent restarted.
  if (isOwned(stored, stateId) && stored.count <= base + count) {
    if (counted === undefined || overlapUntil === undefined) {
      // An Event that was deleted and created again must not begin before its deletion.
      return { base, first: base < 0 ? (stored.firstTimestamp ?? first) : began };
    }
    return { base: Math.max(0, counted - count), first: began, overlap: { count: counted, until: overlapUntil } };
  }
  // All our packets came after the Event's last write, so none is counted twice.
  if (first > until) return { base: stored.count, first: began };
  return {
    base: Math.max(0, stored.count - count),
    first: began,
    overlap: last <= until ? { count: stored.count, until } : undefined,
  };
}

/** While the Event may already count our packets, the larger of both counts is shown, which is never too high. */
function baseOf({ count, published: { base, overlap } }: Series): number {
  return overlap === undefined ? base : Math.max(0, overlap.count - count);
}

export interface StoredEvent {
  resourceVersion: string;
  component: string;
  /** `source.host`. */
  host: string | undefined;
  type: string | undefined;
  /** Its `identityText`. */
  identity: string;
  count: number;
  lastTimestamp: Millis | undefined;
  firstTimestamp: Millis | undefined;
  annotations: Readonly<Record<string, string>>;
}

export interface Refusal {
  kind: 'refused';
  /** The HTTP status; 0 without an answer of the API server. */
  status: number;
  /** The `reason` of the answer's Status object, `NamespaceTerminating` if that is its cause, or `NamespaceNotFound`; '' without one. */
  reason: string;
  message: string;
  retryAfter: Millis | undefined;
}

export type StoreAnswer = { kind: 'stored'; event: StoredEvent };

/** Stores Events in the API server. Never rejects, and settles within its own time-out. */
export interface EventStore {
  create: (event: CoreEvent) => Promise<StoreAnswer | Refusal>;
  read: (namespace: string, name: string) => Promise<StoreAnswer | Refusal>;
  /** Changes the fields that differ between writes. Refused (409) if the Event has changed since `resourceVersion`. */
  update: (event: CoreEvent, resourceVersion: string) => Promise<StoreAnswer | Refusal>;
}
