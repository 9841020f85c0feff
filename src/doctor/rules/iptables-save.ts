import type { LogRule, RuleSet } from './log-rule.ts';
import { wordsOf } from './words.ts';

/** What `iptables-save --counters` prints, of either backend and address family. */
export function readIptablesSave(text: string, backend: RuleSet['backend']): RuleSet {
  const logs: LogRule[] = [];
  let rules = 0;
  let hasClusterChains = false;
  for (const line of text.split('\n')) {
    const [, packets, rule] = /^(?:\[(\d+):\d+\] )?-A (.+)$/.exec(line) ?? [];
    if (rule === undefined) continue;
    rules++;
    hasClusterChains ||= /^(?:KUBE|cali)-/.test(rule);
    const target = /(?:^| )-j (N?F?LOG)(?: |$)/.exec(rule)?.[1];
    if (target !== 'LOG' && target !== 'NFLOG') continue;
    const words = wordsOf(rule);
    const after = (option: string): string | undefined =>
      words[words.findIndex((word) => !word.isQuoted && word.text === option) + 1 || words.length]?.text;
    const group = target === 'NFLOG' ? Number(after('--nflog-group') ?? 0) : undefined;
    const prefix = after(target === 'LOG' ? '--log-prefix' : '--nflog-prefix') ?? '';
    logs.push({ target, prefix, group, packets: packets === undefined ? undefined : Number(packets) });
  }
  return { backend, rules, hasClusterChains, logs };
}
