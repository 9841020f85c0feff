/** Writes the SQL that adds names to rows (source, destination, service, rule), and sums up the rows. */
import { column, literal } from '../engine.ts';
import type { ReportOptions } from '../model.ts';

/** Names the tables and views, which users see with `--db`. */
export const tables = { rows: 'flows', baseline: 'baseline' } as const;
export const views = { rows: 'flow', baseline: 'baseline_flow' } as const;

type End = 'source' | 'destination';

/** Earlier times come from a wrong clock, so they are left out of the time line. */
const earliest = '2015-01-01';

interface ViewOptions extends Pick<ReportOptions, 'includeNoise' | 'policy' | 'now'> {
  /** The rows come from several clusters, so names begin with the cluster. */
  manyClusters: boolean;
}

/** Leaves out gaps and records of unknown kinds. */
export function createFlowView(view: string, table: string, options: ViewOptions): string {
  const noise = options.includeNoise ? '' : ' AND "event.noise" IS NULL';
  const named = namedPolicies(options.manyClusters);
  const ofPolicy = options.policy.length === 0 ? '' : ` AND ${namesPolicy(named, options.policy)}`;
  return `CREATE VIEW ${view} AS SELECT *,
    coalesce("event.start", "@timestamp") AS "at",
    ${whoOf('source', options)} AS "from", ${groupOf('source', options)} AS "fromGroup",
    ${whoOf('destination', options)} AS "to", ${groupOf('destination', options)} AS "toGroup",
    ${service} AS service, ${rule} AS rule, ${denying} AS policies, ${verdict} AS verdict, ${named} AS named,
    "event.action" AS action, "network.packets"::DOUBLE AS packets,
    coalesce("network.packets_at_least", false) AS "atLeast",
    "event.action" IN ('dropped', 'rejected') AS denied,
    ${isPlausible('coalesce("event.start", "@timestamp")', options.now)} AS timely
  FROM ${table} WHERE "event.name" IN ('network.flow.drop', 'network.flow.log')${noise}${ofPolicy}`;
}

/** Returns the condition that a time does not come from a wrong clock: from 2015 to a day after now (in milliseconds). */
export function isPlausible(time: string, now: number): string {
  return `(${time} >= TIMESTAMP '${earliest}' AND ${time} <= make_timestamp(${(now + 86_400_000) * 1000}))`;
}

/** Returns the name of an end: `Deployment shop/web`, `Pod shop/debug`, `Node node-a`, or else its address. */
function whoOf(end: End, { manyClusters }: ViewOptions): string {
  const of = (name: string): string => column(`${end}.${name}`);
  const [kind, namespace, owner] = [of('kind'), of('k8s.namespace.name'), of('k8s.owner.name')];
  const within = `CASE WHEN ${namespace} IS NULL THEN '' ELSE ${namespace} || '/' END`;
  return `${clusterOf(manyClusters, kind)}CASE
    WHEN ${kind} IN ('redacted', 'other') THEN '(' || ${kind} || ')'
    WHEN ${owner} IS NOT NULL THEN coalesce(${of('k8s.owner.kind')}, ${kind}, 'workload') || ' ' || ${within} || ${owner}
    WHEN ${of('k8s.pod.name')} IS NOT NULL THEN 'Pod ' || ${within} || ${of('k8s.pod.name')}
    ELSE coalesce(${of('address')}, '(unknown)') END`;
}

/** Returns the Namespace of an end, or its kind in parentheses if it has none: `(nodes)`, `(external)`. */
function groupOf(end: End, { manyClusters }: ViewOptions): string {
  const of = (name: string): string => column(`${end}.${name}`);
  const kind = of('kind');
  return `${clusterOf(manyClusters, kind)}coalesce(${of('k8s.namespace.name')}, CASE ${kind} WHEN 'Node' THEN '(nodes)' ELSE '(' || coalesce(${kind}, 'unknown') || ')' END)`;
}

function clusterOf(manyClusters: boolean, kind: string): string {
  if (!manyClusters) return '';
  return `CASE WHEN "k8s.cluster.name" IS NULL OR ${kind} IN ('external', 'redacted', 'other') THEN '' ELSE "k8s.cluster.name" || ': ' END || `;
}

const service = `coalesce(CASE
    WHEN "icmp.type" IS NOT NULL THEN coalesce("network.transport", 'icmp') || ' ' || "icmp.type" || '/' || coalesce("icmp.code", 0)
    WHEN "network.reply" THEN "network.transport" || '/' || "source.port" || ' (answers)'
    ELSE "network.transport" || '/' || "destination.port" END, "network.transport", '(unknown)')`;

/** Lists the policies that denied the packet; empty if they are not known. */
const denying = `CASE WHEN "policy.verdict" = 'denied' THEN string_split("policy.decided_by", ',') ELSE [] END`;

const rule = `CASE
    WHEN "policy.verdict" = 'denied' AND "policy.decided_by" IS NOT NULL THEN replace("policy.decided_by", ',', ', ')
    WHEN "security_rule.name" IS NOT NULL THEN coalesce("policy.kind", 'policy') || ' ' || coalesce("policy.namespace" || '/', '') || "security_rule.name"
    WHEN "policy.kind" = 'ClusterNetworkPolicy' AND "policy.tier" IS NOT NULL THEN 'ClusterNetworkPolicy of tier ' || "policy.tier"
    WHEN "log.prefix" IS NOT NULL THEN 'prefix ' || "log.prefix"
    ELSE coalesce("log.logger", '(unknown)') END`;

/** Creates the table `rule_sums`, from which other sums are made: a row for each pair, rule, verdict and list of policies. */
export function createRuleSums(view: string): string {
  return `CREATE TEMP TABLE rule_sums AS
    SELECT "from", any_value("fromGroup") AS "fromGroup", "to", any_value("toGroup") AS "toGroup", service, action, denied, rule, verdict, named AS policies,
      sum(packets) AS packets, bool_or("atLeast") AS "atLeast", count(*) AS records,
      epoch_ms(min("at"))::DOUBLE AS first, epoch_ms(max(coalesce("event.end", "at")))::DOUBLE AS last
    FROM ${view} GROUP BY "from", "to", service, action, denied, rule, verdict, named`;
}

/** Rows are grouped by rule first, because DuckDB can write groups to the disk when memory is short, but not distinct values in a group. */
export function createPairs(table: string): string {
  return `CREATE TABLE ${table} AS SELECT row_number() OVER (ORDER BY packets DESC, "from", "to", service, action)::INTEGER AS place, * FROM (
    SELECT "from", any_value("fromGroup") AS "fromGroup", "to", any_value("toGroup") AS "toGroup", service, action, denied,
      sum(packets) AS packets, bool_or("atLeast") AS "atLeast", sum(records)::DOUBLE AS records,
      min(first) AS first, max(last) AS last, coalesce(arg_max(rule, (packets, rule)), '') AS rule, count(*)::DOUBLE AS rules,
      coalesce(arg_max(verdict, (packets, rule)), '') AS verdict
    FROM (
      SELECT "from", any_value("fromGroup") AS "fromGroup", "to", any_value("toGroup") AS "toGroup", service, action, denied, rule,
        sum(packets) AS packets, bool_or("atLeast") AS "atLeast", sum(records) AS records, min(first) AS first, max(last) AS last,
        arg_max(verdict, (packets, verdict)) AS verdict
      FROM rule_sums GROUP BY "from", "to", service, action, denied, rule)
    GROUP BY "from", "to", service, action, denied)`;
}

const notNamed = '(not named)';

const verdict = `CASE WHEN "policy.verdict" IN ('denied', 'admitted') THEN "policy.verdict" ELSE 'unknown' END`;

/** Returns SQL for the deciding policies, separated by commas. If the verdict is unknown, it takes the policy that the log names. */
function namedPolicies(manyClusters: boolean): string {
  const logged = `coalesce("policy.kind", 'policy') || ' ' || coalesce("policy.namespace" || '/', '') || "security_rule.name"`;
  const names = `CASE WHEN "policy.decided_by" <> '' THEN "policy.decided_by"
    WHEN ${verdict} = 'unknown' AND "security_rule.name" IS NOT NULL THEN replace(${logged}, ',', '_') END`;
  const cluster = `CASE WHEN "k8s.cluster.name" IS NULL THEN '' ELSE replace("k8s.cluster.name", ',', '_') || ': ' END`;
  const all = manyClusters ? `${cluster} || replace(${names}, ',', ',' || ${cluster})` : names;
  return `coalesce(${all}, ${literal(notNamed)})`;
}

/** In `names`, `*` stands for any characters and `?` for one. Cluster, kind and Namespace before a name may be left out. */
function namesPolicy(list: string, names: readonly string[]): string {
  const patterns = names.map((name) => name.replace(/[\\^$.+()[\]{}|]/g, String.raw`\$&`));
  const any = patterns.map((each) => each.replaceAll('*', '[^,]*').replaceAll('?', '[^,]')).join('|');
  return `regexp_full_match(${list}, ${literal(`(?is)(?:.*,)?(?:[^,]*: )?(?:[^ ,]* )?(?:[^/,]*/)?(?:${any})(?:,.*)?`)})`;
}

/** The most policies that a row names (docs/audit.md). */
const mostNamed = 8;

const mostNamespaces = 3;

/** Matches what `groupOf` returns for an end without a Namespace: `(external)`, `east: (nodes)`. */
const noNamespace = '(^|: )[(]';

const key = 'policy, verdict';
const pair = '"from", "to", service, action';

/**
 * A packet that several policies deny counts for each of them. Rows are grouped by pair and by Namespace first, because DuckDB can write
 * groups to the disk when memory is short.
 */
export function createPolicySums(table: string): string {
  return `CREATE TABLE ${table} AS
    WITH named AS (
      SELECT * EXCLUDE (policies), unnest(list_filter(list_distinct(string_split(policies, ',')[:${mostNamed}]), lambda each: each <> '')) AS policy
      FROM rule_sums),
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

/**
 * An unknown verdict equals any other. `names`: the policies to compare, because the tables have only some of the records of other policies;
 * empty for all.
 */
export function missingPolicies(other: string, names: readonly string[]): string {
  const asked = names.length === 0 ? `policy <> ${literal(notNamed)}` : namesPolicy('policy', names);
  return `${asked} AND NOT EXISTS (
    SELECT 1 FROM ${other} AS o WHERE o.policy = own.policy AND (o.verdict = own.verdict OR o.verdict = 'unknown' OR own.verdict = 'unknown'))`;
}
