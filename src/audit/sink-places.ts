import type { Millis } from '../model/log-line.ts';

/** Rows that a sink never had, because the queue was full. */
export interface LostRows {
  rows: number;
  /** When the first and the last were lost. */
  first: Millis;
  last: Millis;
}

/** How far a sink has come. Plain JSON. */
export interface SinkPlace {
  /** Number of the last row that the receiver has. */
  confirmed: number;
  lost?: LostRows | undefined;
}

export interface SinkPlacesOptions {
  sinks: readonly string[];
  /** Number of the oldest row that is held. */
  oldest: number;
  restored: Readonly<Record<string, SinkPlace>> | undefined;
  now: () => Millis;
}

/** How far each sink has come in the rows of the queue. */
export function createSinkPlaces({ sinks, oldest, restored, now }: SinkPlacesOptions) {
  const places: Record<string, SinkPlace> = Object.fromEntries(
    sinks.map((sink) => [sink, { confirmed: oldest - 1, ...restored?.[sink] }]),
  );
  /** Since the start. */
  const lostBy = new Map<string, number>();

  return {
    all: places as Readonly<Record<string, SinkPlace>>,
    of: placeOf,
    /** By sink: rows that it has not confirmed, and rows that it never had since the start. */
    summary: (newest: number): Record<string, { behind: number; lost: number }> =>
      Object.fromEntries(
        Object.entries(places).map(([sink, { confirmed }]) => [
          sink,
          { behind: newest - confirmed, lost: lostBy.get(sink) ?? 0 },
        ]),
      ),
    /** Who has not confirmed this row, the oldest of those that are held, never gets it. */
    lose(row: number): void {
      for (const [sink, place] of Object.entries(places)) {
        if (place.confirmed >= row) continue;
        place.confirmed = row;
        lostBy.set(sink, (lostBy.get(sink) ?? 0) + 1);
        const { rows, first } = place.lost ?? { rows: 0, first: now() };
        place.lost = { rows: rows + 1, first, last: now() };
      }
    },
    /** The receiver has all rows up to this one, and knows of the lost ones given. */
    confirm(sink: string, through: number, lost: LostRows | undefined): void {
      const place = placeOf(sink);
      place.confirmed = Math.max(place.confirmed, through);
      // What was lost while the batch was under way is reported with the next one.
      if (place.lost === lost) delete place.lost;
    },
    /** Number of the last row that all sinks have. */
    confirmedByAll: (): number => Math.min(...Object.values(places).map(({ confirmed }) => confirmed)),
  };

  function placeOf(sink: string): SinkPlace {
    return places[sink] as SinkPlace;
  }
}
