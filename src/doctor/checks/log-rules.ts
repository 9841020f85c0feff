import { type Check, ok, problem, unknown } from '../check.ts';
import type { NetworkView } from '../network-view.ts';
import { distinctLogs, type Rules } from '../rules/read-rules.ts';

const byHand = "run on the node: iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset | grep -w log";

/** Whether any rule of this node logs: no rule that logs, no line. */
export function checkLogRules(rules: Rules, view: NetworkView): Check {
  const name = 'log-rules';
  if (view === 'pod') return unknown(name, "not to be seen from a Pod without the node's network", byHand);
  const logs = distinctLogs(rules);
  if (logs.length > 0) {
    const kinds = (['LOG', 'NFLOG'] as const).map((target) => [
      logs.filter((log) => log.target === target).length,
      target,
    ]);
    const counted = kinds.filter(([count]) => count !== 0).map(([count, target]) => `${count} ${target}`);
    return ok(name, `rules that log, by prefix: ${counted.join(' and ')}`);
  }
  const { saw, failures } = rules;
  if (!saw.legacy || !saw.nft) {
    const unseen = [...(saw.legacy ? [] : ['iptables-legacy']), ...(saw.nft ? [] : ['nft'])].join(' and ');
    const why = failures.length > 0 ? failures.join('; ') : 'their programs are not in this image';
    return unknown(name, `none found, but the rules of ${unseen} cannot be seen (${why})`, byHand);
  }
  return problem(
    name,
    'no rule of this node logs: lost packets leave no trace',
    'put a rule with LOG before the one that drops; README.md, "Turn the logging on", has one for each set-up',
  );
}
