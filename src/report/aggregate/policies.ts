/** Packets by policy, and by what the policies say of them. */
import { type Engine, literal } from '../engine.ts';
import type { Bounded, PolicySum } from '../model.ts';
import { namesPolicy, notNamed } from './policy-names.ts';
import { boundedOf } from './time-line.ts';

/** A row names at most so many (docs/audit.md). */
const mostNamed = 8;

/** Namespaces of a policy that are named. */
const mostNamespaces = 3;

/** What is in no Namespace, as `groupOf` has it: `(external)`, `east: (nodes)`. */
const noNamespace = '(^|: )[(]';

const key = 'policy, verdict';
const pair = '"from", "to", service, action';

/**
 * A table with one row for each policy and verdict, from the table of sums by rule (`createRuleSums`). A packet that several policies deny is
 * in the row of each. It is summed up by pair, and by Namespace, first, because DuckDB writes groups to the disk when memory is short.
 */
export function createPolicySums(table: string, ruleSums: string): string {
  return `CREATE TABLE ${table} AS
    WITH named AS (
      SELECT * EXCLUDE (policies), unnest(list_filter(list_distinct(string_split(policies, ',')[:${mostNamed}]), lambda each: each <> '')) AS policy
      FROM ${ruleSums}),
    sums AS (
      SELECT ${key}, sum(packets) AS packets, bool_or("atLeast") AS "atLeast", sum(records)::DOUBLE AS records, count(*)::DOUBLE AS pairs,
        min(first) AS first, max(last) AS last
      FROM (
        SELECT ${key}, ${pair}, sum(packets) AS packets, bool_or("atLeast") AS "atLeast", sum(records) AS records, min(first) AS first, max(last) AS last
        FROM named GROUP BY ${key}, ${pair})
      GROUP BY ${key}),
    places AS (
      SELECT ${key}, count(*)::DOUBLE AS namespaces, arg_max(namespace, (packets, namespace), ${mostNamespaces}) AS "topNamespaces"
      FROM (
        SELECT ${key}, namespace, sum(packets) AS packets
        FROM (SELECT ${key}, packets, unnest(list_distinct(["fromGroup", "toGroup"])) AS namespace FROM named)
        WHERE NOT regexp_matches(namespace, '${noNamespace}') GROUP BY ${key}, namespace)
      GROUP BY ${key})
    SELECT sums.*, coalesce(namespaces, 0) AS namespaces, coalesce("topNamespaces", []) AS "topNamespaces" FROM sums LEFT JOIN places USING (${key})`;
}

export async function readPolicies(
  engine: Engine,
  table: string,
  most: number,
  where = 'true',
): Promise<Bounded<PolicySum>> {
  return boundedOf(
    await engine.all<PolicySum & { total: number }>(
      `SELECT *, count(*) OVER ()::DOUBLE AS total FROM ${table} AS own WHERE ${where} ORDER BY packets DESC, policy, verdict LIMIT ${most}`,
    ),
  );
}

/**
 * A condition for policies that another table does not have. Where one of two verdicts is unknown, they may be the same. `names`: only these
 * are asked for, so of others the tables do not have all records; none: all.
 */
export function missingPolicies(other: string, names: readonly string[]): string {
  const asked = names.length === 0 ? `policy <> ${literal(notNamed)}` : namesPolicy('policy', names);
  return `${asked} AND NOT EXISTS (
    SELECT 1 FROM ${other} AS o WHERE o.policy = own.policy AND (o.verdict = own.verdict OR o.verdict = 'unknown' OR own.verdict = 'unknown'))`;
}
