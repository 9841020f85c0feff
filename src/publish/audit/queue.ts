import type { Millis } from '../../base/model/log-line.ts';
import { createKeyedChanges, type KeyedChanges } from '../../base/platform/keyed-changes.ts';
import { oldestKeyOf } from '../../base/platform/oldest-key.ts';

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
  /** The most bytes of all rows, as UTF-8. Beyond that, the oldest rows of the Namespace with the most are lost. */
  most: number;
  restored?: { state: QueueState; rows: readonly (readonly [number: string, row: string])[] } | undefined;
  /** The Namespace whose share of the room a restored row takes. */
  namespaceOf: (row: string) => string;
  now: () => Millis;
}

export interface AuditQueue {
  readonly changes: KeyedChanges;
  /** Read it before the rows are saved, and call `release` with it when they are on disk. */
  readonly newest: number;
  readonly sizes: { rows: number; bytes: number };
  readonly state: QueueState;
  readonly sinks: Readonly<Record<string, { behind: number; lost: number }>>;
  add(row: string, namespace: string): void;
  /** Notes that rows up to `through` are on disk, so that receivers may get them. */
  release(through: number): void;
  next(sink: string, mostRows: number): Batch | undefined;
  confirm(sink: string, batch: Pick<Batch, 'through' | 'lost'>): void;
}

/** Keeps rows in order until every sink has them. Sinks have separate positions. The state on disk contains the queue. */
export function createAuditQueue({ sinks, most, restored, namespaceOf, now }: AuditQueueOptions): AuditQueue {
  /** In the order of their numbers. Some numbers are missing, because the oldest row of a Namespace need not be the oldest of all. */
  const rows = new Map(restored?.rows);
  const shares = createRoomShares();
  for (const [key, row] of rows) shares.enter(key, namespaceOf(row), Buffer.byteLength(row));
  const changes = createKeyedChanges('record', rows);
  let newest = restored?.state.newest ?? 0;
  /** The last row that is on disk. */
  let released = newest;
  const oldest = Number(rows.keys().next().value ?? newest + 1);
  const places = createSinkPlaces({ sinks, oldest, restored: restored?.state.sinks, now });

  return {
    changes,
    get newest(): number {
      return newest;
    },
    get sizes(): { rows: number; bytes: number } {
      return { rows: rows.size, bytes: shares.bytes };
    },
    get state(): QueueState {
      return { newest, sinks: places.all };
    },
    get sinks(): Readonly<Record<string, { behind: number; lost: number }>> {
      return places.summary(rows.keys().map(Number).toArray());
    },
    add(row: string, namespace: string): void {
      const key = String(++newest);
      rows.set(key, row);
      changes.changed(key);
      shares.enter(key, namespace, Buffer.byteLength(row));
      while (shares.bytes > most && rows.size > 1) lose(shares.oldestOfLargest());
    },
    release(through: number): void {
      released = Math.max(released, through);
    },
    next(sink: string, mostRows: number): Batch | undefined {
      const { confirmed, lost } = places.of(sink);
      if (confirmed >= released) return undefined;
      const batch: string[] = [];
      let through = confirmed;
      for (const [key, row] of rows) {
        const number = Number(key);
        if (number > released || batch.length === mostRows) break;
        if (number <= confirmed) continue;
        batch.push(row);
        through = number;
      }
      return batch.length === 0 ? undefined : { rows: batch, through, lost };
    },
    confirm(sink: string, { through, lost }: Pick<Batch, 'through' | 'lost'>): void {
      places.confirm(sink, through, lost);
      const last = places.confirmedByAll();
      for (const key of rows.keys()) {
        if (Number(key) > last) break;
        remove(key);
      }
    },
  };

  function lose(key: string): void {
    places.lose(Number(key));
    remove(key);
  }

  function remove(key: string): void {
    shares.leave(key, Buffer.byteLength(rows.get(key) ?? ''));
    rows.delete(key);
    changes.changed(key);
  }
}

interface RoomShare {
  /** The oldest row comes first. */
  readonly keys: Set<string>;
  readonly oldest: () => string | undefined;
  bytes: number;
}

/** Finds the Namespace with the most bytes of rows, whose rows are lost first, so that no Namespace displaces another's rows. */
function createRoomShares() {
  const shares = new Map<string, RoomShare>();
  const shareOf = new Map<string, string>();
  let bytes = 0;

  return {
    get bytes(): number {
      return bytes;
    },
    enter(key: string, namespace: string, size: number): void {
      const share = shares.get(namespace) ?? createShare();
      shares.set(namespace, share);
      shareOf.set(key, namespace);
      share.keys.add(key);
      share.bytes += size;
      bytes += size;
    },
    leave(key: string, size: number): void {
      const namespace = shareOf.get(key) ?? '';
      const share = shares.get(namespace);
      if (share?.keys.delete(key) !== true) return;
      shareOf.delete(key);
      share.bytes -= size;
      bytes -= size;
      if (share.keys.size === 0) shares.delete(namespace);
    },
    /** Remove this row before the next call. */
    oldestOfLargest(): string {
      let largest: RoomShare | undefined;
      for (const share of shares.values()) if (share.bytes > (largest?.bytes ?? -1)) largest = share;
      return largest?.oldest() ?? '';
    },
  };
}

function createShare(): RoomShare {
  const keys = new Set<string>();
  return { keys, oldest: oldestKeyOf(keys), bytes: 0 };
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

interface SinkPlaces {
  all: Readonly<Record<string, SinkPlace>>;
  of: (sink: string) => SinkPlace;
  /** `lost` counts since the start. */
  summary: (rows: readonly number[]) => Record<string, { behind: number; lost: number }>;
  lose(row: number): void;
  confirm(sink: string, through: number, lost: LostRows | undefined): void;
  confirmedByAll: () => number;
}

function createSinkPlaces({ sinks, oldest, restored, now }: SinkPlacesOptions): SinkPlaces {
  const places: Record<string, SinkPlace> = Object.fromEntries(
    sinks.map((sink) => [sink, { confirmed: oldest - 1, ...restored?.[sink] }]),
  );
  const lostBy = new Map<string, number>();

  return {
    all: places,
    of: placeOf,
    summary: (rows: readonly number[]): Record<string, { behind: number; lost: number }> =>
      Object.fromEntries(
        Object.entries(places).map(([sink, { confirmed }]) => [
          sink,
          { behind: rows.filter((row) => row > confirmed).length, lost: lostBy.get(sink) ?? 0 },
        ]),
      ),
    lose(row: number): void {
      for (const [sink, place] of Object.entries(places)) {
        if (place.confirmed >= row) continue;
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
