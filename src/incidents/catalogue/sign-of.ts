import type { Millis } from '../../model/log-line.ts';
import type { ConntrackFull, NeighbourOverflow } from '../../model/observation.ts';
import type { FailureSign, Program, ProgramRecord, Sign } from '../../model/program-record.ts';
import { causes } from './catalogue.ts';
import type { Cause } from './cause.ts';
import { backendOf, familyOf } from './reading.ts';
import { firstLine, isProblem, quotable, said } from './record-text.ts';
import { short } from './texts.ts';

/** Names are as long as the program makes them. Of chains of nftables, the longest, they are 128 characters and the namespace. */
const subjectLimit = 160;

/** The rows that apply to each program, in order. */
const rows: Readonly<Record<Program, readonly Cause[]>> = {
  'kube-proxy': rowsOf('kube-proxy'),
  felix: rowsOf('felix'),
  confd: rowsOf('confd'),
  bird: rowsOf('bird'),
  'calico-node': rowsOf('calico-node'),
  unknown: rowsOf('unknown'),
};

/** Information that tells of trouble or of its end. Most of what programs log is other information and ends here. */
const telling: readonly string[] = [
  'Number of node(s) with BGP peering established = 0',
  'Hit error connecting to datastore',
  'Failed to perform list of current data',
];

/** As in `Cause.needles`, of what `syncOf` answers. */
export const syncNeedles = [
  'Sync failed',
  'yncProxyRules ',
  'Succeeded after retry',
  'Completed first update to dataplane',
];

/** What a record of a program says of an incident; undefined for most. Never throws; linear in the length of the record. */
export function signOf(record: ProgramRecord): Sign | undefined {
  const { message, program } = record;
  // BIRD prints no severity.
  if (!isProblem(record) && program !== 'bird') {
    return syncOf(record) ?? (telling.some((head) => message.startsWith(head)) ? failureOf(record) : undefined);
  }
  return syncOf(record) ?? failureOf(record);
}

/** What a kernel table that is full says of an incident. */
export function signOfTable(observation: ConntrackFull | NeighbourOverflow): FailureSign {
  const sign = { kind: 'failure', failing: 'kernel', backend: undefined } as const;
  if (observation.kind === 'conntrack-full') {
    const { netns } = observation;
    const place = netns === undefined ? 'the host' : `network namespace ${netns}`;
    return { ...sign, code: 'KN401', family: '', subject: place, quote: conntrackQuote(netns) };
  }
  const { family } = observation;
  return {
    ...sign,
    code: 'KN402',
    family: family ?? '',
    subject: family,
    quote: family === undefined ? 'neighbour table overflow' : `${family}: neighbour table overflow`,
  };
}

function conntrackQuote(netns: number | undefined): string {
  return `nf_conntrack: table full${netns === undefined ? '' : ` in netns ${netns}`}, dropping packet`;
}

function rowsOf(program: Program): readonly Cause[] {
  return causes.filter(({ programs }) => programs.includes(program));
}

function failureOf(record: ProgramRecord): FailureSign | undefined {
  for (const cause of rows[record.program]) {
    const match = cause.match(record);
    if (match === undefined) continue;
    const text = said(record);
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

/**
 * kube-proxy: `Sync failed` with the time of the next attempt, and `SyncProxyRules complete`. felix: that its rules were
 * accepted after a retry, or for the first time since its start.
 */
function syncOf(record: ProgramRecord): Sign | undefined {
  const { message, program: failing, fields } = record;
  if (failing === 'kube-proxy') {
    if (message.startsWith('Sync failed')) {
      const told = fields['retryingTime'] ?? /^Sync failed; retrying in ([\w.]{1,30})/.exec(message)?.[1];
      return {
        kind: 'sync-failed',
        failing,
        family: familyOf(record, ''),
        retry: told === undefined ? undefined : duration(told),
      };
    }
    return /^[Ss]yncProxyRules (?:complete|took)\b/.test(message)
      ? { kind: 'sync-complete', failing, family: familyOf(record, ''), retry: undefined }
      : undefined;
  }
  if (
    failing !== 'felix' ||
    !(message.startsWith('Succeeded after retry') || message.startsWith('Completed first update to dataplane'))
  )
    return undefined;
  return { kind: 'sync-complete', failing, family: familyOf(record, ''), retry: undefined };
}

const units: Readonly<Record<string, Millis>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** `30s`, `1m30.5s`, as Go prints a time.Duration; undefined for anything else. */
function duration(text: string): Millis | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s)){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, number, unit] of text.matchAll(/(\d{1,9}(?:\.\d{1,9})?)(h|ms|m|s)/g))
    sum += Number(number) * (units[unit ?? ''] ?? 0);
  return sum;
}
