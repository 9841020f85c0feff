import type { Millis } from '../../model/log-line.ts';
import type { TableReport } from '../../model/observation.ts';
import type { Failing, FailureSign, ProgramRecord, Sign } from '../../model/program-record.ts';
import { causes } from './catalogue.ts';
import type { Cause } from './cause.ts';
import { backendOf, familyOf, firstLine, isProblem, quotable, startsWithAny, textOf } from './record-text.ts';
import { short } from './texts.ts';

/** Names are as long as the program makes them. Of chains of nftables, the longest, they are 128 characters and the namespace. */
const subjectLimit = 160;

/** The rows that apply to each program, in order. */
const rows = new Map<Failing, Cause[]>();
for (const cause of causes)
  for (const program of cause.programs) rows.set(program, [...(rows.get(program) ?? []), cause]);

/** Most of what programs log is other information and ends here. */
const infoOpenings = causes.flatMap((cause) => cause.infoOpenings ?? []);

/** Literals as in `Cause.needles`, for what `syncOf` answers. */
const syncNeedles = ['Sync failed', 'yncProxyRules ', 'Succeeded after retry', 'Completed first update to dataplane'];

/** Reads what a record of a program, or a report on a table of the kernel, says of an incident; undefined for most. Never throws; linear in the length of the record. */
export function signOf(record: ProgramRecord | TableReport): Sign | undefined {
  if (record.kind !== 'program-record') return tableFailureOf(record);
  const { message, program } = record;
  // BIRD prints no severity.
  if (!isProblem(record) && program !== 'bird') {
    return syncOf(record) ?? (startsWithAny(message, infoOpenings) ? failureOf(record) : undefined);
  }
  return syncOf(record) ?? failureOf(record);
}

function tableFailureOf(report: TableReport): FailureSign | undefined {
  for (const { code, matchTable } of causes) {
    const match = matchTable?.(report);
    if (match !== undefined) return { kind: 'failure', code, failing: 'kernel', backend: undefined, ...match };
  }
  return undefined;
}

function failureOf(record: ProgramRecord): FailureSign | undefined {
  for (const cause of rows.get(record.program) ?? []) {
    const match = cause.match(record);
    if (match === undefined) continue;
    const text = textOf(record);
    const subject = match.subject === undefined ? '' : short(match.subject, subjectLimit);
    return {
      kind: 'failure',
      code: cause.code,
      failing: record.program,
      family: familyOf(record, text),
      subject: subject === '' ? undefined : subject,
      quote: match.quote === undefined ? firstLine(record) : quotable(match.quote),
      backend: backendOf(text),
    };
  }
  return undefined;
}

/** Successful syncs: of felix its first, or one after a retry. kube-proxy logs its own after a failed one, too. */
const completions: Partial<Record<Failing, RegExp>> = {
  'kube-proxy': /^[Ss]yncProxyRules (?:complete|took)\b/,
  felix: /^(?:Succeeded after retry|Completed first update to dataplane)/,
};

function syncOf(record: ProgramRecord): Sign | undefined {
  const { message, program: failing, fields } = record;
  if (failing === 'kube-proxy' && message.startsWith('Sync failed')) {
    const retry = fields['retryingTime'] ?? /^Sync failed; retrying in ([\w.]{1,30})/.exec(message)?.[1];
    return { kind: 'sync-failed', failing, family: familyOf(record, ''), retry: duration(retry) };
  }
  if (completions[failing]?.test(message) !== true) return undefined;
  return { kind: 'sync-complete', failing, family: familyOf(record, ''), retry: undefined };
}

const units: Readonly<Record<string, Millis>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** `30s`, `1m30.5s`, as Go prints a time.Duration; undefined for anything else. */
function duration(text = ''): Millis | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s)){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s)/g))
    sum += Number(number) * (units[unit ?? ''] ?? 0);
  return sum;
}

/** One of these stands in each record that `signOf` answers, fatal ones of klog apart. ASCII, eight characters or more each. */
export const programNeedles: readonly string[] = shortest([
  ...causes.flatMap(({ needles }) => needles),
  ...syncNeedles,
  // This says that felix has written less than it meant to.
  '... dropped ',
]);

function shortest(needles: readonly string[]): string[] {
  const distinct = [...new Set(needles)];
  return distinct.filter((needle) => !distinct.some((other) => other !== needle && needle.includes(other)));
}
