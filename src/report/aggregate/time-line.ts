import type { Engine } from '../engine.ts';
import type { Bounded, Gap, Scan, TimeLine } from '../model.ts';
import { isPlausible } from './views.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

/** Intervals that a person can read; the first one that makes few enough is taken. */
const steps = [minute, 5 * minute, 15 * minute, hour, 3 * hour, 6 * hour, 12 * hour, day, 7 * day, 28 * day];
const mostIntervals = 240;

export async function readTimeLine(engine: Engine, view: string): Promise<TimeLine | undefined> {
  const { first, last, outside } = await engine.one<{ first: number | null; last: number | null; outside: number }>(
    `SELECT epoch_ms(min("at") FILTER (timely))::DOUBLE AS first, epoch_ms(max("at") FILTER (timely))::DOUBLE AS last,
      (count(*) FILTER (NOT timely))::DOUBLE AS outside FROM ${view}`,
  );
  if (first === null || last === null) return undefined;
  const step = steps.find((each) => Math.ceil((last - first) / each) < mostIntervals) ?? 28 * day;
  const start = Math.floor(first / step) * step;
  const length = Math.floor((last - start) / step) + 1;
  const sums = await engine.all<{ interval: number; action: string; packets: number }>(
    `SELECT ((epoch_ms("at") - ${start}) // ${step})::DOUBLE AS interval, action, sum(packets)::DOUBLE AS packets
      FROM ${view} WHERE timely GROUP BY ALL ORDER BY action, interval`,
  );
  const series = [...Map.groupBy(sums, ({ action }) => action)].map(([action, group]) => {
    const packets = Array.from({ length }, () => 0);
    for (const each of group) packets[each.interval] = each.packets;
    return { action, packets };
  });
  return { start, step, series, outside };
}

/** Gaps by node and reason, the longest first. */
export async function readGaps(engine: Engine, table: string, now: number, most: number): Promise<Bounded<Gap>> {
  return await engine.bounded<Gap>(
    `SELECT coalesce("event.reason", 'unknown') AS reason, coalesce("k8s.node.name", '') AS node, count(*)::DOUBLE AS intervals,
      coalesce(sum("log.records_lost"), 0)::DOUBLE AS lost, epoch_ms(min(${gapTime}))::DOUBLE AS first,
      epoch_ms(max(coalesce("event.end", "@timestamp")))::DOUBLE AS last, count(*) OVER ()::DOUBLE AS total
    FROM ${table} WHERE "event.name" = 'network.flow.gap' AND ${isPlausible('"@timestamp"', now)}
    GROUP BY 1, 2 ORDER BY intervals DESC, lost DESC, node, reason LIMIT ${most}`,
  );
}

const gapTime = 'coalesce("event.start", "@timestamp")';

/** The beginnings of intervals of the time line in which records are missing. */
export async function readGapIntervals(engine: Engine, table: string, { start, step }: TimeLine): Promise<number[]> {
  const found = await engine.all<{ interval: number }>(
    `SELECT DISTINCT ((epoch_ms(${gapTime}) - ${start}) // ${step})::DOUBLE AS interval FROM ${table}
      WHERE "event.name" = 'network.flow.gap' AND epoch_ms(${gapTime}) >= ${start} ORDER BY interval`,
  );
  return found.map(({ interval }) => interval);
}

/** The agent reports as a scan what is denied by more than so many within an hour. */
const fewDestinations = 8;

export async function readScans(engine: Engine, view: string, most: number): Promise<Bounded<Scan>> {
  return await engine.bounded<Scan>(
    `SELECT "from", max(destinations)::DOUBLE AS destinations, count(*)::DOUBLE AS hours, sum(packets)::DOUBLE AS packets,
      min(first)::DOUBLE AS first, max(last)::DOUBLE AS last, count(*) OVER ()::DOUBLE AS total
    FROM (
      SELECT "from", count(*) AS destinations, sum(packets) AS packets, min(first) AS first, max(last) AS last
      FROM (
        SELECT "from", "to", epoch_ms("at") // ${hour} AS hour, sum(packets) AS packets,
          epoch_ms(min("at")) AS first, epoch_ms(max(coalesce("event.end", "at"))) AS last
        FROM ${view} WHERE denied AND timely AND "from" NOT LIKE '(%' GROUP BY ALL)
      GROUP BY "from", hour HAVING destinations > ${fewDestinations})
    GROUP BY "from" ORDER BY destinations DESC, packets DESC, "from" LIMIT ${most}`,
  );
}
