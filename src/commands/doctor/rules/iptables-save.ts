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
    // Cheap, and right for all but a few of some ten thousand rules; a comment may say it, too.
    if (!/ -j N?F?LOG(?: |$)/.test(line)) continue;
    const words = wordsOf(rule);
    const after = (option: string): string | undefined =>
      words[words.findIndex((word) => !word.isQuoted && word.text === option) + 1 || words.length]?.text;
    const target = after('-j');
    if (target !== 'LOG' && target !== 'NFLOG') continue;
    const group = target === 'NFLOG' ? Number(after('--nflog-group') ?? 0) : undefined;
    const prefix = after(target === 'LOG' ? '--log-prefix' : '--nflog-prefix') ?? '';
    logs.push({ target, prefix, group, packets: packets === undefined ? undefined : Number(packets) });
  }
  return { backend, rules, hasClusterChains, logs };
}
