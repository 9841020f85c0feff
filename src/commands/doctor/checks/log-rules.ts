import { documentAt } from '../../../config/docs-url.ts';
import type { Millis } from '../../../model/log-line.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { KernelLog } from '../kernel-log.ts';
import type { NetworkView } from '../network-view.ts';
import { distinctLogs, type Rules } from '../rules/read-rules.ts';
import { whyUnseen } from '../rules/unseen.ts';

export interface LogRulesOptions {
  rules: Rules;
  view: NetworkView;
  /** The kernel's latest lines; undefined where they cannot be read. */
  log: KernelLog | undefined;
  now: () => Millis;
}

const { ok, problem, unknown } = answersOf('log-rules');
const byHand = "run on the node as root: iptables-save | grep -E -- '-j N?F?LOG'; nft list ruleset | grep -w log";
/** A line that is older may be of a rule that is gone. */
const recent: Millis = 3_600_000;

/** Whether any rule of this node logs: no rule that logs, no line. */
export function checkLogRules({ rules, view, log, now }: LogRulesOptions): Check {
  const last = log?.packets.reduce((latest, { time }) => Math.max(latest, time), -Infinity) ?? -Infinity;
  if (view === 'pod') return unseen("rules are not to be seen from a Pod without the node's network");
  const logs = distinctLogs(rules);
  if (logs.length > 0) {
    const kinds = (['LOG', 'NFLOG'] as const).map((target) => [
      logs.filter((each) => each.target === target).length,
      target,
    ]);
    const counted = kinds.filter(([count]) => count !== 0).map(([count, target]) => `${count} ${target}`);
    return ok(`rules that log, by prefix: ${counted.join(' and ')}`);
  }
  const { saw, failures } = rules;
  if (!saw.legacy || !saw.nft) {
    const hidden = [...(saw.legacy ? [] : ['iptables-legacy']), ...(saw.nft ? [] : ['nft'])].join(' and ');
    return unseen(`none found, but the rules of ${hidden} cannot be seen (${whyUnseen(failures)})`);
  }
  const count = log?.packets.length ?? 0;
  const gone = `. One that did is gone: ${count} ${count === 1 ? 'line' : 'lines'} lately, the last one ${ago(last, now())}`;
  return problem(
    `no rule of this node logs: lost packets leave no trace${count === 0 ? '' : gone}`,
    `put a rule with LOG before the one that drops; ${documentAt('docs/logging.md')} has one for each set-up`,
  );

  /** A recent line shows that there is a rule. */
  function unseen(why: string): Check {
    if (last === -Infinity) return unknown(why, byHand);
    const line = `the last line of one came ${ago(last, now())}`;
    return now() - last <= recent
      ? ok(`there are rules that log: ${line}; ${why}`)
      : unknown(`${why}; ${line}`, byHand);
  }
}
