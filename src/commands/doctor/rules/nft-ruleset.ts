import type { LogRule } from './log-rule.ts';
import { nftWordsOf, type Word } from './words.ts';

/** The rules of `nft list ruleset` with a `log` statement, options in any order (nft(8), LOG STATEMENT). A group means NFLOG. */
export function readNftRuleset(text: string): LogRule[] {
  return text.split('\n').flatMap((line) => {
    if (!/\blog\b/.test(line)) return [];
    const packets = packetsOf(line);
    const words = nftWordsOf(line);
    // A chain cannot be named so.
    return words.flatMap((word, at) =>
      word.text === 'log' && !word.isQuoted ? [statementAt(words.slice(at + 1), packets)] : [],
    );
  });
}

/** An nft without libxtables shows what is of iptables only by name: `xt target "LOG"`. */
export function hidesRules(text: string): boolean {
  return /\bxt target "N?F?LOG"/.test(text);
}

const options = new Set(['prefix', 'group', 'level', 'flags', 'snaplen', 'queue-threshold']);

/** Each option has one value; `flags` may have two words (`tcp sequence,options`). */
function statementAt(words: readonly Word[], packets: number | undefined): LogRule {
  let prefix = '';
  let group: number | undefined;
  for (let at = 0; at < words.length; at += 2) {
    const [option, value] = [words[at], words[at + 1]];
    if (option === undefined || option.isQuoted || !options.has(option.text)) break;
    if (option.text === 'prefix') prefix = value?.text ?? '';
    if (option.text === 'group') group = Number(value?.text);
    if (option.text === 'flags' && (value?.text === 'tcp' || value?.text === 'ip')) at++;
  }
  return { target: group === undefined ? 'LOG' : 'NFLOG', prefix, group, packets };
}

/** Of a `counter` before the `log`. */
function packetsOf(line: string): number | undefined {
  const found = /\bcounter packets (\d+) bytes \d+ /.exec(line);
  if (found === null || !/\blog\b/.test(line.slice(found.index + found[0].length))) return undefined;
  return Number(found[1]);
}
