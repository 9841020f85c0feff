/** Makes a report from tables of rows. DuckDB computes the sums, so memory does not grow with the number of rows. */
import type { Engine } from '../engine.ts';
import {
  type TopList,
  type Changes,
  type Count,
  type RecordTotals,
  type OmittedRows,
  type Matrix,
  type Pair,
  type PolicySum,
  type Ranking,
  rankings,
  type RankingName,
  type AuditReport,
  type ReportOptions,
  type Scan,
} from '../model.ts';
import { hour, readGaps, readTimeLine } from './time-line.ts';
import {
  createFlowView,
  createPairs,
  createPolicySums,
  createRuleSums,
  isPlausible,
  missingPolicies,
  tables,
  views,
} from './views.ts';

/** Names the tables of sums, which users also see with `--db`. */
export const pairTables = { rows: 'pairs', baseline: 'baseline_pairs' } as const;
const policyTables = { rows: 'by_policy', baseline: 'baseline_by_policy' } as const;

type Side = keyof typeof tables;

type Options = Pick<ReportOptions, 'includeNoise' | 'policy' | 'now'> & { hasBaseline: boolean };

export type Aggregate = Omit<
  AuditReport,
  'incidents' | 'events' | keyof OmittedRows | 'leftOutOfBaseline' | 'problems'
>;

export async function aggregate(engine: Engine, options: Options): Promise<Aggregate> {
  const { hasBaseline, includeNoise, policy, now } = options;
  const sides: readonly Side[] = hasBaseline ? ['rows', 'baseline'] : ['rows'];
  const clusters = await clusterNames(engine, sides);
  const manyClusters = clusters.length > 1;
  for (const side of sides) {
    await engine.run(createFlowView(views[side], tables[side], { manyClusters, includeNoise, policy, now }));
    await engine.run(createRuleSums(views[side]));
    await engine.run(createPairs(pairTables[side]));
    await engine.run(createPolicySums(policyTables[side]));
    await engine.run('DROP TABLE rule_sums');
  }
  const facts = await engine.one<{ denied: number; atLeast: boolean; nodes: number; pairs: number }>(
    `SELECT coalesce(sum(packets) FILTER (denied), 0)::DOUBLE AS denied, coalesce(bool_or("atLeast"), false) AS "atLeast",
      (SELECT count(DISTINCT "k8s.node.name")::DOUBLE FROM ${policy.length > 0 ? views.rows : tables.rows}) AS nodes, count(*)::DOUBLE AS pairs FROM ${pairTables.rows}`,
  );
  return {
    ...facts,
    policy,
    extent: await extentOf(engine, 'rows', now),
    clusters,
    ...(await leftOut(engine, includeNoise)),
    actions: await engine.all<Count>(
      `SELECT action AS name, sum(packets)::DOUBLE AS packets, sum(records)::DOUBLE AS records FROM ${pairTables.rows} GROUP BY action ORDER BY packets DESC, name`,
    ),
    top: await topPairs(engine, pairTables.rows, 'true', 100),
    policies: await topPolicies(engine, policyTables.rows, 'true'),
    rankings: await allRankings(engine),
    namespaces: await readMatrix(engine, ['fromGroup', 'toGroup'], 24),
    workloads: await readMatrix(engine, ['from', 'to'], 32),
    timeLine: await readTimeLine(engine),
    gaps: await readGaps(engine, now),
    scans: await readScans(engine),
    changes: hasBaseline ? await readChanges(engine, options) : undefined,
  };
}

async function clusterNames(engine: Engine, sides: readonly Side[]): Promise<string[]> {
  const all = sides.map((side) => `SELECT DISTINCT "k8s.cluster.name" AS name FROM ${tables[side]}`).join(' UNION ');
  const found = await engine.all<{ name: string }>(
    `SELECT name FROM (${all}) WHERE name IS NOT NULL ORDER BY name LIMIT 100`,
  );
  return found.map(({ name }) => name);
}

async function extentOf(engine: Engine, side: Side, now: number): Promise<RecordTotals> {
  const row = await engine.one<Omit<RecordTotals, 'first' | 'last'> & Record<'first' | 'last', number | null>>(
    `SELECT count(*)::DOUBLE AS records, coalesce(sum(packets), 0)::DOUBLE AS packets,
      epoch_ms(min("at") FILTER (timely))::DOUBLE AS first,
      epoch_ms(max(coalesce("event.end", "at")) FILTER (timely AND ${isPlausible('coalesce("event.end", "at")', now)}))::DOUBLE AS last,
      (SELECT count(*)::DOUBLE FROM ${tables[side]} WHERE "event.name" = 'network.flow.gap') AS gaps FROM ${views[side]}`,
  );
  return { ...row, first: row.first ?? undefined, last: row.last ?? undefined };
}

async function leftOut(engine: Engine, includeNoise: boolean): Promise<Pick<AuditReport, 'noise' | 'unknownKinds'>> {
  const { noise, unknownKinds } = await engine.one<Pick<AuditReport, 'noise' | 'unknownKinds'>>(
    `SELECT coalesce(sum("network.packets") FILTER ("event.noise" IS NOT NULL), 0)::DOUBLE AS noise,
      (count(*) FILTER ("event.name" NOT IN ('network.flow.drop', 'network.flow.log', 'network.flow.gap')))::DOUBLE AS "unknownKinds"
    FROM ${tables.rows}`,
  );
  return { noise: includeNoise ? 0 : noise, unknownKinds };
}

async function topPairs(engine: Engine, table: string, where: string, most: number): Promise<TopList<Pair>> {
  return await engine.bounded(
    `SELECT * EXCLUDE (denied), count(*) OVER ()::DOUBLE AS total FROM ${table} WHERE ${where} ORDER BY place LIMIT ${most}`,
  );
}

async function topPolicies(engine: Engine, table: string, where: string): Promise<TopList<PolicySum>> {
  return await engine.bounded(
    `SELECT *, count(*) OVER ()::DOUBLE AS total FROM ${table} AS own WHERE ${where} ORDER BY packets DESC, policy, verdict LIMIT 500`,
  );
}

async function allRankings(engine: Engine): Promise<Record<RankingName, Ranking>> {
  const found: [RankingName, Ranking][] = [];
  for (const name of rankings) {
    const column = name === 'node' ? `coalesce("k8s.node.name", '(unknown)')` : `"${name}"`;
    const rows = await engine.all<Count & { names: number; sum: number }>(
      `SELECT ${column} AS name, sum(packets)::DOUBLE AS packets, count(*)::DOUBLE AS records,
        count(*) OVER ()::DOUBLE AS names, sum(sum(packets)) OVER ()::DOUBLE AS sum
      FROM ${views.rows} GROUP BY 1 ORDER BY packets DESC, name LIMIT 10`,
    );
    const top = rows.map(({ name: of, packets, records }) => ({ name: of, packets, records }));
    const shown = top.reduce((sum, { packets }) => sum + packets, 0);
    const { names = 0, sum = 0 } = rows[0] ?? {};
    found.push([name, { top, others: { names: names - top.length, packets: sum - shown } }]);
  }
  return Object.fromEntries(found) as Record<RankingName, Ranking>;
}

/** Dropped and rejected packets are one pair; packets that were let through are another. */
async function readChanges(engine: Engine, { policy, now }: Options): Promise<Changes> {
  const { rows, baseline } = pairTables;
  const policiesOf = (own: Side, other: Side): Promise<TopList<PolicySum>> =>
    topPolicies(engine, policyTables[own], missingPolicies(policyTables[other], policy));
  return {
    appeared: await topPairs(engine, rows, missingIn(baseline, rows), 500),
    vanished: await topPairs(engine, baseline, missingIn(rows, baseline), 500),
    policies: {
      appeared: await policiesOf('rows', 'baseline'),
      vanished: await policiesOf('baseline', 'rows'),
    },
    baseline: await extentOf(engine, 'baseline', now),
  };
}

export function missingIn(other: string, own: string): string {
  return `NOT EXISTS (SELECT 1 FROM ${other} AS o WHERE o."from" = ${own}."from" AND o."to" = ${own}."to" AND o.service = ${own}.service AND o.denied = ${own}.denied)`;
}

async function readMatrix(engine: Engine, [from, to]: readonly [string, string], size: number): Promise<Matrix> {
  const namesOf = (column: string): Promise<TopList<{ name: string }>> =>
    engine.bounded(
      `SELECT "${column}" AS name, count(*) OVER ()::DOUBLE AS total FROM ${pairTables.rows} GROUP BY name ORDER BY sum(packets) DESC, name LIMIT ${size}`,
    );
  const sides = [await namesOf(from), await namesOf(to)];
  const [rows = [], columns = []] = sides.map(({ top }) => top.map(({ name }) => name));
  const [otherRows = 0, otherColumns = 0] = sides.map(({ more }) => more);
  const [rowOf, columnOf] = [rows, columns].map((names) => new Map(names.map((name, place) => [name, place])));
  const cells = Array.from({ length: rows.length + Number(otherRows > 0) }, () =>
    Array.from({ length: columns.length + Number(otherColumns > 0) }, () => 0),
  );
  const sums = engine.batches<{ source: string; destination: string; packets: number }>(
    `SELECT "${from}" AS source, "${to}" AS destination, sum(packets)::DOUBLE AS packets FROM ${pairTables.rows} GROUP BY ALL`,
  );
  for await (const batch of sums)
    for (const { source, destination, packets } of batch) {
      const row = cells[rowOf?.get(source) ?? rows.length];
      const column = columnOf?.get(destination) ?? columns.length;
      if (row !== undefined) row[column] = (row[column] ?? 0) + packets;
    }
  return { rows, columns, otherRows, otherColumns, cells };
}

/** A source is a scanner, as in the agent, if more destinations than this denied it within an hour, or one of them at so many ports. */
const [fewDestinations, manyPorts] = [8, 16];

/** Null for packets without ports and for answers, whose ports their receiver chose. */
const scannedPort = `CASE WHEN NOT coalesce("network.reply", false) THEN "network.transport" || '/' || "destination.port" END`;

async function readScans(engine: Engine): Promise<TopList<Scan>> {
  return await engine.bounded<Scan>(
    `SELECT "from", max(destinations)::DOUBLE AS destinations, max(ports)::DOUBLE AS ports, count(*)::DOUBLE AS hours, sum(packets)::DOUBLE AS packets,
      min(first)::DOUBLE AS first, max(last)::DOUBLE AS last, count(*) OVER ()::DOUBLE AS total
    FROM (
      SELECT "from", count(*) AS destinations, max(ports) AS ports, sum(packets) AS packets, min(first) AS first, max(last) AS last
      FROM (
        SELECT "from", "to", hour, count(port) AS ports, sum(packets) AS packets, min(first) AS first, max(last) AS last
        FROM (
          SELECT "from", "to", epoch_ms("at") // ${hour} AS hour, ${scannedPort} AS port, sum(packets) AS packets,
            epoch_ms(min("at")) AS first, epoch_ms(max(coalesce("event.end", "at"))) AS last
          FROM ${views.rows} WHERE denied AND timely AND "from" NOT LIKE '(%' GROUP BY ALL)
        GROUP BY "from", "to", hour)
      GROUP BY "from", hour HAVING destinations > ${fewDestinations} OR ports >= ${manyPorts})
    GROUP BY "from" ORDER BY destinations DESC, ports DESC, packets DESC, "from" LIMIT 50`,
  );
}
