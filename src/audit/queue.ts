import type { Millis } from '../model/log-line.ts';
import { createKeyedChanges, type KeyedChanges } from '../platform/keyed-changes.ts';
import { createSinkPlaces, type LostRows, type SinkPlace } from './sink-places.ts';

export interface QueueState {
  /** Number of the newest row. */
  newest: number;
  sinks: Readonly<Record<string, SinkPlace>>;
}

export interface Batch {
  rows: readonly string[];
  /** Number of the last row. */
  through: number;
  /** What was lost before the first row. */
  lost: LostRows | undefined;
}

export interface AuditQueueOptions {
  sinks: readonly string[];
  /** Bytes of rows that are held; then the oldest goes. */
  most: number;
  restored?: { state: QueueState; rows: readonly (readonly [number: string, row: string])[] } | undefined;
  now: () => Millis;
}

/** Rows in order, for sinks that are each at a place of their own. All of it is a part of the state on disk. */
export interface AuditQueue {
  add: (row: string) => void;
  /** The newest row: once all that was added before this call is on disk, `release` it. */
  readonly newest: number;
  /** Rows up to this one are on disk, so receivers may have them. */
  release: (through: number) => void;
  /** The next rows for a sink, at most so many; undefined if it has all that were released. */
  next: (sink: string, most: number) => Batch | undefined;
  /** The receiver has the batch for good. */
  confirm: (sink: string, batch: Batch) => void;
  /** What is held. */
  readonly sizes: { rows: number; bytes: number };
  /** By sink: rows that it has not confirmed, and rows that it never had since the start. */
  readonly sinks: Readonly<Record<string, { behind: number; lost: number }>>;
  readonly state: QueueState;
  readonly changes: Pick<KeyedChanges, 'take' | 'entries'>;
}

export function createAuditQueue({ sinks, most, restored, now }: AuditQueueOptions): AuditQueue {
  const rows = new Map(restored?.rows);
  const changes = createKeyedChanges('record', rows);
  let newest = restored?.state.newest ?? 0;
  /** What an earlier run left is on disk. */
  let released = newest;
  let oldest = newest + 1 - rows.size;
  let bytes = rows.values().reduce((sum, { length }) => sum + length, 0);
  const places = createSinkPlaces({ sinks, oldest, restored: restored?.state.sinks, now });

  return {
    changes,
    get newest() {
      return newest;
    },
    get sizes() {
      return { rows: rows.size, bytes };
    },
    get state() {
      return { newest, sinks: places.all };
    },
    get sinks() {
      return places.summary(newest);
    },
    add(row) {
      const key = String(++newest);
      rows.set(key, row);
      changes.changed(key);
      bytes += row.length;
      for (let over = bytes - most; over > 0 && rows.size > 1; over = bytes - most) loseOldest();
    },
    release(through) {
      released = Math.max(released, through);
    },
    next(sink, mostRows) {
      const { confirmed, lost } = places.of(sink);
      if (confirmed >= released) return undefined;
      const batch: string[] = [];
      let through = Math.max(confirmed, oldest - 1);
      for (; through < released && batch.length < mostRows; through++) batch.push(rows.get(String(through + 1)) ?? '');
      return { rows: batch, through, lost };
    },
    confirm(sink, { through, lost }) {
      places.confirm(sink, through, lost);
      for (const last = places.confirmedByAll(); oldest <= last;) removeOldest();
    },
  };

  function loseOldest(): void {
    places.lose(oldest);
    removeOldest();
  }

  function removeOldest(): void {
    const key = String(oldest++);
    bytes -= rows.get(key)?.length ?? 0;
    rows.delete(key);
    changes.changed(key);
  }
}
