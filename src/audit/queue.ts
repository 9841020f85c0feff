import type { Millis } from '../model/log-line.ts';
import { createKeyedChanges } from '../platform/keyed-changes.ts';

export interface QueueState {
  newest: number;
  sinks: Readonly<Record<string, SinkPlace>>;
}

export interface Batch {
  rows: readonly string[];
  /** The number of the last row. */
  through: number;
  lost: LostRows | undefined;
}

export interface AuditQueueOptions {
  sinks: readonly string[];
  /** The most bytes of all rows, as UTF-8. Beyond that, the oldest rows are lost. */
  most: number;
  restored?: { state: QueueState; rows: readonly (readonly [number: string, row: string])[] } | undefined;
  now: () => Millis;
}

export type AuditQueue = ReturnType<typeof createAuditQueue>;

/** Keeps rows in order until every sink has them. Sinks have separate positions. The state on disk contains the queue. */
export function createAuditQueue({ sinks, most, restored, now }: AuditQueueOptions) {
  const rows = new Map(restored?.rows);
  const changes = createKeyedChanges('record', rows);
  let newest = restored?.state.newest ?? 0;
  /** The last row that is on disk. */
  let released = newest;
  let oldest = newest + 1 - rows.size;
  let bytes = rows.values().reduce((sum, row) => sum + Buffer.byteLength(row), 0);
  const places = createSinkPlaces({ sinks, oldest, restored: restored?.state.sinks, now });

  return {
    changes,
    /** Read it before the rows are saved, and call `release` with it when they are on disk. */
    get newest(): number {
      return newest;
    },
    get sizes(): { rows: number; bytes: number } {
      return { rows: rows.size, bytes };
    },
    get state(): QueueState {
      return { newest, sinks: places.all };
    },
    get sinks(): Readonly<Record<string, { behind: number; lost: number }>> {
      return places.summary(newest);
    },
    add(row: string): void {
      const key = String(++newest);
      rows.set(key, row);
      changes.changed(key);
      bytes += Buffer.byteLength(row);
      for (let over = bytes - most; over > 0 && rows.size > 1; over = bytes - most) loseOldest();
    },
    /** Notes that rows up to `through` are on disk, so that receivers may get them. */
    release(through: number): void {
      released = Math.max(released, through);
    },
    next(sink: string, mostRows: number): Batch | undefined {
      const { confirmed, lost } = places.of(sink);
      if (confirmed >= released) return undefined;
      const batch: string[] = [];
      let through = Math.max(confirmed, oldest - 1);
      for (; through < released && batch.length < mostRows; through++) batch.push(rows.get(String(through + 1)) ?? '');
      return { rows: batch, through, lost };
    },
    confirm(sink: string, { through, lost }: Pick<Batch, 'through' | 'lost'>): void {
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
    bytes -= Buffer.byteLength(rows.get(key) ?? '');
    rows.delete(key);
    changes.changed(key);
  }
}

/** Rows that a sink never got, because the queue was full. */
export interface LostRows {
  rows: number;
  first: Millis;
  last: Millis;
}

export interface SinkPlace {
  /** The number of the last row that the sink has, or has lost. */
  confirmed: number;
  lost?: LostRows | undefined;
}

export interface SinkPlacesOptions {
  sinks: readonly string[];
  oldest: number;
  restored: Readonly<Record<string, SinkPlace>> | undefined;
  now: () => Millis;
}

function createSinkPlaces({ sinks, oldest, restored, now }: SinkPlacesOptions) {
  const places: Record<string, SinkPlace> = Object.fromEntries(
    sinks.map((sink) => [sink, { confirmed: oldest - 1, ...restored?.[sink] }]),
  );
  const lostBy = new Map<string, number>();

  return {
    all: places as Readonly<Record<string, SinkPlace>>,
    of: placeOf,
    /** `lost` counts since the start. */
    summary: (newest: number): Record<string, { behind: number; lost: number }> =>
      Object.fromEntries(
        Object.entries(places).map(([sink, { confirmed }]) => [
          sink,
          { behind: newest - confirmed, lost: lostBy.get(sink) ?? 0 },
        ]),
      ),
    lose(row: number): void {
      for (const [sink, place] of Object.entries(places)) {
        if (place.confirmed >= row) continue;
        place.confirmed = row;
        lostBy.set(sink, (lostBy.get(sink) ?? 0) + 1);
        const { rows, first } = place.lost ?? { rows: 0, first: now() };
        place.lost = { rows: rows + 1, first, last: now() };
      }
    },
    confirm(sink: string, through: number, lost: LostRows | undefined): void {
      const place = placeOf(sink);
      place.confirmed = Math.max(place.confirmed, through);
      // Rows that were lost meanwhile are reported with the next batch.
      if (place.lost === lost) delete place.lost;
    },
    confirmedByAll: (): number => Math.min(...Object.values(places).map(({ confirmed }) => confirmed)),
  };

  function placeOf(sink: string): SinkPlace {
    return places[sink] as SinkPlace;
  }
}
