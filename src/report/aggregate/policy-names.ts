/** Names of policies in rows, and what the policies say of them, as SQL. */
import { literal } from '../engine.ts';

/** In the place of a policy where a record names none. */
export const notNamed = '(not named)';

/** What the policies say. Of a row that does not say it (an older agent, no policies known) it is unknown, as where they are not enough to say. */
export const verdict = `CASE WHEN "policy.verdict" IN ('denied', 'admitted') THEN "policy.verdict" ELSE 'unknown' END`;

/** The policies that decide, with commas between; where the verdict is unknown, the one that the log names. With the cluster, if there are several. */
export function namedPolicies(manyClusters: boolean): string {
  const logged = `coalesce("policy.kind", 'policy') || ' ' || coalesce("policy.namespace" || '/', '') || "security_rule.name"`;
  const names = `CASE WHEN "policy.decided_by" <> '' THEN "policy.decided_by"
    WHEN ${verdict} = 'unknown' AND "security_rule.name" IS NOT NULL THEN replace(${logged}, ',', '_') END`;
  const cluster = `CASE WHEN "k8s.cluster.name" IS NULL THEN '' ELSE replace("k8s.cluster.name", ',', '_') || ': ' END`;
  const all = manyClusters ? `${cluster} || replace(${names}, ',', ',' || ${cluster})` : names;
  return `coalesce(${all}, ${literal(notNamed)})`;
}

/**
 * A condition for a list of policies with commas between: one of them has one of these names, in which `*` and `?` stand for any characters.
 * Cluster, kind and Namespace may be left out from the left.
 */
export function namesPolicy(column: string, names: readonly string[]): string {
  const patterns = names.map((name) => name.replace(/[\\^$.+()[\]{}|]/g, String.raw`\$&`));
  const any = patterns.map((each) => each.replaceAll('*', '[^,]*').replaceAll('?', '[^,]')).join('|');
  return `regexp_full_match(${column}, ${literal(`(?is)(?:.*,)?(?:[^,]*: )?(?:[^ ,]* )?(?:[^/,]*/)?(?:${any})(?:,.*)?`)})`;
}
