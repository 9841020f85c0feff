import type { Engine } from '../engine.ts';
import type { Gap, TimeLine, TopList } from '../model.ts';
import { isPlausible, tables, views } from './views.ts';

const second = 1000;
const minute = 60 * second;
export const hour = 60 * minute;
const day = 24 * hour;

/** The time line uses the shortest step that is at least as long as a row and gives at most `mostIntervals` intervals. */
const steps = [
  second,
  5 * second,
  15 * second,
  minute,
  5 * minute,
  15 * minute,
  hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  7 * day,
  28 * day,
];
const mostIntervals = 240;

export async function readTimeLine(engine: Engine): Promise<TimeLine | undefined> {
  const { first, last, longest, outside } = await engine.one<{
    first: number | null;
    last: number | null;
    longest: number | null;
    outside: number;
  }>(
    `SELECT epoch_ms(min("at") FILTER (timely))::DOUBLE AS first, epoch_ms(max("at") FILTER (timely))::DOUBLE AS last,
      max(epoch_ms("event.end") - epoch_ms("at")) FILTER (timely)::DOUBLE AS longest,
      (count(*) FILTER (NOT timely))::DOUBLE AS outside FROM ${views.rows}`,
  );
  if (first === null || last === null) return undefined;
  const least = Math.min(minute, longest ?? 0);
  const step = steps.find((each) => each >= least && Math.ceil((last - first) / each) < mostIntervals) ?? 28 * day;
  const start = Math.floor(first / step) * step;
  const length = Math.floor((last - start) / step) + 1;
  const sums = await engine.all<{ interval: number; action: string; packets: number }>(
    `SELECT ((epoch_ms("at") - ${start}) // ${step})::DOUBLE AS interval, action, sum(packets)::DOUBLE AS packets
      FROM ${views.rows} WHERE timely GROUP BY ALL ORDER BY action, interval`,
  );
  const series = [...Map.groupBy(sums, ({ action }) => action)].map(([action, group]) => {
    const packets = Array.from({ length }, () => 0);
    for (const each of group) packets[each.interval] = each.packets;
    return { action, packets };
  });
  return { start, step, series, outside };
}

export async function readGaps(engine: Engine, now: number): Promise<TopList<Gap>> {
  return await engine.bounded<Gap>(
    `SELECT coalesce("event.reason", 'unknown') AS reason, coalesce("k8s.node.name", '') AS node, count(*)::DOUBLE AS intervals,
      coalesce(sum("log.records_lost"), 0)::DOUBLE AS lost, epoch_ms(min(${gapTime}))::DOUBLE AS first,
      epoch_ms(max(coalesce("event.end", "@timestamp")))::DOUBLE AS last, count(*) OVER ()::DOUBLE AS total
    FROM ${tables.rows} WHERE "event.name" = 'network.flow.gap' AND ${isPlausible('"@timestamp"', now)}
    GROUP BY 1, 2 ORDER BY intervals DESC, lost DESC, node, reason LIMIT 50`,
  );
}

const gapTime = 'coalesce("event.start", "@timestamp")';

/** The end is not before the beginning, even if the clock was corrected in between. */
const gapEnd = `greatest(${gapTime}, coalesce("event.end", "@timestamp"))`;

/**
 * Returns the indexes of the intervals that a gap overlaps. A gap may be longer than the time line: if a receiver is away, one row reports all
 * records that it did not get. As with packets, a gap that begins at a time of a wrong clock is left out.
 */
export async function readGapIntervals(engine: Engine, { start, step, series }: TimeLine): Promise<number[]> {
  const length = series[0]?.packets.length ?? 0;
  const end = start + length * step;
  const indexOf = (time: string): string => `(epoch_ms(${time}) - ${start}) // ${step}`;
  const found = await engine.all<{ interval: number }>(
    `SELECT DISTINCT unnest(range(greatest(0, first), least(${length}, last + 1)))::DOUBLE AS interval
    FROM (
      SELECT DISTINCT ${indexOf(gapTime)} AS first, ${indexOf(gapEnd)} AS last FROM ${tables.rows}
      WHERE "event.name" = 'network.flow.gap' AND ${isPlausible(gapTime, end)}
        AND epoch_ms(${gapTime}) < ${end} AND epoch_ms(${gapEnd}) >= ${start})
    ORDER BY interval`,
  );
  return found.map(({ interval }) => interval);
}
