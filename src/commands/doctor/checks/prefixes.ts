import type { Millis } from '../../../model/log-line.ts';
import type { PrefixMeaning, PrefixTable } from '../../../parsing/netfilter/prefixes.ts';
import { printable } from '../../../platform/printable.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { KernelLog } from '../kernel-log.ts';
import type { LogRule } from '../rules/log-rule.ts';

export interface PrefixesOptions {
  /** Of this node, as far as they can be seen. */
  rules: readonly LogRule[];
  /** Whether no other rule of this node logs. */
  areAll: boolean;
  /** The kernel's latest lines; undefined where they cannot be read. */
  log: KernelLog | undefined;
  prefixes: PrefixTable;
  now: () => Millis;
}

/** A node has a handful; with Calico's `%p` in them, hundreds. */
const maxShown = 12;
/** Rows of the prefix table for what is logged on purpose beside what becomes of the packet. */
const onPurpose = new Set(['trace', 'audit']);
/** The row for what Calico's rules with action Log print. */
const calicoLog = 'calico log action';

interface Seen {
  meaning: PrefixMeaning;
  rules: LogRule[];
  lines: number;
  last: Millis | undefined;
}

/** What each prefix of rules and lines means, and when such a line was last seen. */
export function checkPrefixes({ rules, areAll, log, prefixes, now }: PrefixesOptions): Check[] {
  const found = new Map<string, Seen>();
  for (const rule of rules) at(rule.prefix).rules.push(rule);
  for (const { prefix, time } of log?.packets ?? []) {
    const seen = at(prefix);
    seen.lines++;
    seen.last = Math.max(seen.last ?? -Infinity, time);
  }
  const all = [...found.values()].map((seen) => checkOf(seen, areAll, log, now()));
  // What needs doing is not to be among those left out.
  const order = all.toSorted((a, b) => Number(a.status === 'ok') - Number(b.status === 'ok'));
  if (order.length <= maxShown) return order;
  return [...order.slice(0, maxShown), answersOf('prefix …').ok(`${order.length - maxShown} more prefixes`)];

  function at(raw: string): Seen {
    const meaning = prefixes.look(raw);
    let seen = found.get(meaning.text);
    if (seen === undefined) found.set(meaning.text, (seen = { meaning, rules: [], lines: 0, last: undefined }));
    return seen;
  }
}

function checkOf(
  { meaning, rules, lines, last }: Seen,
  areAll: boolean,
  log: KernelLog | undefined,
  present: Millis,
): Check {
  const { text, verdict, rule } = meaning;
  const { ok, warning } = answersOf(`prefix ${text === '' ? '(none)' : printable(text)}`);
  const when =
    last === undefined
      ? log === undefined
        ? ''
        : ', no such line lately'
      : `, ${lines} ${lines === 1 ? 'line' : 'lines'} lately, the last one ${ago(last, present)}`;
  const isGone = rules.length === 0 && areAll;
  const finding = `${meanings[verdict]}${verdict === 'logged' || rule.startsWith('word for') ? '' : ` (${rule})`}${when}${isGone ? '; no rule of this node has it now' : ''}`;
  const groups = rules.filter(({ target }) => target === 'NFLOG').map(({ group }) => group);
  if (groups.length > 0 && groups.length === rules.length && lines === 0)
    return warning(
      `goes to NFLOG group ${groups[0]}, not to the kernel's log`,
      'let ulogd write that group to a log file, and name the file in SOURCES',
    );
  if (verdict === 'logged' && !onPurpose.has(rule) && !isGone)
    return warning(finding, adviceOn(text, rules.length > 0 || rule === calicoLog));
  const packets = rules.reduce((sum, each) => sum + (each.packets ?? 0), 0);
  if (packets > 0 && lines === 0 && log !== undefined)
    return warning(
      `${finding}, though its rule has met ${packets} ${packets === 1 ? 'packet' : 'packets'}`,
      'they may be older than what was looked at; if not, the lines do not get to the source: compare with dmesg on the node',
    );
  return ok(finding);
}

/** `isOfRule`: certainly, and not only by a line, in which anybody may have written what the kernel quotes. */
function adviceOn(text: string, isOfRule: boolean): string {
  if (text === '') return 'give the rule a --log-prefix with the word drop in it, if it stands before one that drops';
  if (!isOfRule)
    return 'if a rule of this node has that prefix and stands before one that drops: give it one with the word drop in it, or name it in PREFIXES';
  const [word = ''] = text.split(/[\s:]/, 1);
  // It is to be copied to a shell.
  const setting = /^[\w.-]+$/.test(word) ? `PREFIXES=${word}=dropped, or ` : '';
  return `if the rule stands before one that drops: ${setting}a prefix with the word drop in it`;
}

const meanings = {
  dropped: 'means dropped',
  rejected: 'means rejected',
  accepted: 'means accepted: makes no Events',
  logged: 'does not tell what becomes of the packet: makes no Events',
} as const;
