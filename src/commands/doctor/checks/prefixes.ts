/** The check of the prefixes with which this node logs. */
import type { Millis } from '../../../model/log-line.ts';
import type { PrefixMeaning } from '../../../parsing/parsing.ts';
import { printable } from '../../../platform/printable.ts';
import type { Known } from '../facts.ts';
import { latestLines } from '../kernel-log.ts';
import { ago, answersOf, type Check, plural } from '../report.ts';
import type { LogRule } from '../rules.ts';

/** A node has a handful of prefixes; with Calico's `%p` in them, hundreds. */
const maxShown = 12;
/** Rows of the prefix table for what is logged on purpose, whatever becomes of the packet. */
const onPurpose = new Set(['trace', 'audit']);
/** The row for what Calico's rules with action Log print. */
const calicoLog = 'calico log action';

interface Seen {
  meaning: PrefixMeaning;
  rules: LogRule[];
  lines: number;
  last: Millis | undefined;
}

/** Says what each prefix of rules and lines means, and when such a line was last seen. */
export function checkPrefixes({
  rules,
  view,
  kernelSources,
  prefixes,
  now,
}: Known<'rules' | 'view' | 'kernelSources'>): Check[] {
  const log = latestLines(kernelSources);
  const found = new Map<string, Seen>();
  const seenWith = (raw: string): Seen => {
    const meaning = prefixes.look(raw);
    const seen = found.get(meaning.text) ?? { meaning, rules: [], lines: 0, last: undefined };
    found.set(meaning.text, seen);
    return seen;
  };
  // Rules in a Pod's own network are not those of the node.
  for (const rule of view === 'pod' ? [] : rules.logs) seenWith(rule.prefix).rules.push(rule);
  for (const { prefix, time } of log?.packets ?? []) {
    const seen = seenWith(prefix);
    seen.lines++;
    seen.last = Math.max(seen.last ?? -Infinity, time);
  }
  const areAll = view !== 'pod' && rules.unseen.length === 0;
  const all = [...found.values()].map((seen) => checkOf(seen, areAll, log !== undefined, now));
  // Prefixes that need an action come first, so that they are not left out.
  const order = all.toSorted((a, b) => Number(a.status === 'ok') - Number(b.status === 'ok'));
  if (order.length <= maxShown) return order;
  return [...order.slice(0, maxShown), answersOf('prefix …').ok(`${order.length - maxShown} more prefixes`)];
}

/** `areAll`: no other rule of this node logs. `hasLog`: the kernel's latest lines can be read. */
function checkOf({ meaning, rules, lines, last }: Seen, areAll: boolean, hasLog: boolean, now: Millis): Check {
  const { text, verdict, rule } = meaning;
  const { ok, warning } = answersOf(`prefix ${text === '' ? '(none)' : printable(text)}`);
  const none = hasLog ? ', no such line lately' : '';
  const when = last === undefined ? none : `, ${plural(lines, 'line')} lately, the last one ${ago(last, now)}`;
  const why = verdict === 'logged' || rule.startsWith('word for') ? '' : ` (${rule})`;
  const isGone = rules.length === 0 && areAll;
  const finding = `${meanings[verdict]}${why}${when}${isGone ? '; no rule of this node has it now' : ''}`;
  const groups = rules.flatMap(({ target, group }) => (target === 'NFLOG' ? [group] : []));
  if (groups.length > 0 && groups.length === rules.length && lines === 0)
    return warning(
      `goes to NFLOG group ${groups[0]}, not to the kernel's log`,
      'let ulogd write that group to a log file, and name the file in SOURCES',
    );
  if (verdict === 'logged' && !onPurpose.has(rule) && !isGone)
    return warning(finding, adviceOn(text, rules.length > 0 || rule === calicoLog));
  const packets = rules.reduce((sum, each) => sum + (each.packets ?? 0), 0);
  if (packets > 0 && lines === 0 && hasLog)
    return warning(
      `${finding}, though its rule has met ${plural(packets, 'packet')}`,
      'they may be older than what was looked at; if not, the lines do not get to the source: compare with dmesg on the node',
    );
  return ok(finding);
}

/** `isOfRule`: a rule certainly has it. A line alone does not show that: the kernel quotes what anybody may have written. */
function adviceOn(text: string, isOfRule: boolean): string {
  if (text === '') return 'give the rule a --log-prefix with the word drop in it, if it stands before one that drops';
  if (!isOfRule)
    return 'if a rule of this node has that prefix and stands before one that drops: give it one with the word drop in it, or name it in PREFIXES';
  const [word = ''] = text.split(/[\s:]/, 1);
  // The user copies the setting to a shell.
  const setting = /^[\w.-]+$/.test(word) ? `PREFIXES=${word}=dropped, or ` : '';
  return `if the rule stands before one that drops: ${setting}a prefix with the word drop in it`;
}

const meanings = {
  dropped: 'means dropped',
  rejected: 'means rejected',
  accepted: 'means accepted: makes no Events',
  logged: 'does not tell what becomes of the packet: makes no Events',
} as const;
