import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { CauseMatch } from './cause.ts';

/** The most characters of an error that are read. An error may contain all rules of a node, but the reason is in its first lines. */
const textLimit = 16_384;

const quoteLimit = 200;

/** Old releases put the error into the message. */
export function textOfRecord(record: ProgramRecord): string {
  const text = record.error === '' ? record.message : `${record.message}\n${record.error}`;
  return text.length > textLimit ? text.slice(0, textLimit) : text;
}

export function lineAt(text: string, index: number): string {
  const begin = text.lastIndexOf('\n', index - 1) + 1;
  const end = text.indexOf('\n', index);
  return quotable(text.slice(begin, end === -1 ? undefined : end));
}

export function quoteOf(text: string, expression: RegExp): string | undefined {
  const found = expression.exec(text);
  return found === null ? undefined : lineAt(text, found.index);
}

/** Returns one line of printable text without surrounding white space, at most 200 characters. */
export function quotable(line: string): string {
  const text = line
    .slice(0, 4 * quoteLimit)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return text.length > quoteLimit ? `${text.slice(0, quoteLimit - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** Returns the default quote: the first line of the error that is more than an exit status, or else that of the message. */
export function defaultQuote({ error, message }: ProgramRecord): string {
  for (const line of error.slice(0, textLimit).split('\n')) {
    const text = quotable(line);
    if (text !== '' && !onlyStatus.test(text)) return text;
  }
  return quotable(message.split('\n', 1)[0] ?? '');
}

const onlyStatus = /^(?:writing out buffer: )?exit status \d+:?(?: Ignoring deprecated --wait-interval option\.)?$/;

export function startsWithAny(text: string, openings: readonly string[]): boolean {
  return openings.some((opening) => text.startsWith(opening));
}

/** The first group of the expression is the subject, and its line is the quote. */
export function find(text: string | undefined, expressions: readonly RegExp[]): CauseMatch | undefined {
  if (text === undefined) return undefined;
  for (const expression of expressions) {
    const found = expression.exec(text);
    if (found !== null) return { subject: found[1], quote: lineAt(text, found.index) };
  }
  return undefined;
}

/** Returns `IPv4`, `IPv6` or '': the record's field, or else the family of the tool or table in the text. */
export function familyOf(record: ProgramRecord, text: string): string {
  const field = record.fields['ipFamily'] ?? record.fields['ipVersion'] ?? record.fields['family'] ?? '';
  if (/^(?:IPv6|0x6|6|inet6|ip6)$/i.test(field)) return 'IPv6';
  if (/^(?:IPv4|0x4|4|inet|ip)$/i.test(field)) return 'IPv4';
  if (
    /\bip6tables(?:-legacy|-nft)?(?:-restore|-save)? v\d|\b(?:add|delete) \w+ ip6 |^BIRD6 |BIRDv6|\bIPv6 support\b/m.test(
      text,
    )
  )
    return 'IPv6';
  if (/\biptables(?:-legacy|-nft)?(?:-restore|-save)? v\d|\b(?:add|delete) \w+ ip |BIRDv4/m.test(text)) return 'IPv4';
  return '';
}

/** Returns the backend that iptables used, by the version that it prints or by the name of the command. */
export function backendOf(text: string): 'legacy' | 'nf_tables' | undefined {
  const found =
    /\bip6?tables[\w-]{0,16} v[\d.]{1,12} \((legacy|nf_tables)\)/.exec(text) ??
    /\b(?:xtables-|ip6?tables-)(legacy|nft)\b/.exec(text);
  if (found === null) return undefined;
  return found[1] === 'legacy' ? 'legacy' : 'nf_tables';
}

/*
 * The beginning of a message shows which call of a tool failed. Only after such a beginning is the error searched for the reason, so rules,
 * comments and names of Services in other messages are never read.
 */

/** Beginnings in kube-proxy, iptables and ipvs modes [1.4 to 1.36: pkg/proxy/iptables, pkg/proxy/ipvs, pkg/util/iptables]. */
const kubeProxyIptables = [
  'Failed to execute iptables-restore',
  'Failed to execute iptables-save',
  'Failed to ensure chain ',
  'Failed to ensure that ',
  'Could not set up iptables canary',
  'Could not check for iptables canary',
];

/** Beginnings in kube-proxy, nftables mode [1.29 to 1.36: pkg/proxy/nftables]. */
const kubeProxyNftables = [
  'nftables sync failed',
  'Failed to list nftables ',
  'Failed to list existing ',
  'Unable to delete stale chains',
];

/** Beginnings in felix [felix/iptables/table.go]. `saveCommandFailed` matches messages that begin with a command's name. */
const felixIptables = [
  'Failed to execute ip(6)tables-restore command',
  'Failed to program iptables, will retry',
  'iptables save failed',
  'iptables-save failed because ',
];

/** Beginnings in felix [felix/nftables/table.go]. */
const felixNftables = [
  'Failed to program nftables, will retry',
  'Failed to run nft transaction',
  'nftables command failed',
];

/** The literals (see `Cause.needles`) of failed calls of iptables and nft, also of lines from the middle of such a record. */
export const iptablesNeedles = [...kubeProxyIptables, ...felixIptables, '-save command failed', 'tables-restore'];
export const nftablesNeedles = [...kubeProxyNftables, ...felixNftables, '/dev/stdin:'];

const saveCommandFailed = /^ip6?tables(?:-legacy|-nft)?-save command failed/;

/** Returns the text of a failed call of iptables, also of iptables-save; undefined for other records. */
export function iptablesFailure(record: ProgramRecord): string | undefined {
  const { message, program } = record;
  if (isFragment(record)) return isOfNft(record) ? undefined : textOfRecord(record);
  if (program === 'kube-proxy') {
    return startsWithAny(message, kubeProxyIptables) && !isCleanup(record) ? textOfRecord(record) : undefined;
  }
  if (program !== 'felix') return undefined;
  return startsWithAny(message, felixIptables) || saveCommandFailed.test(message) ? textOfRecord(record) : undefined;
}

/** Returns the text of a failed call of nft, also of one that only lists; undefined for other records. */
export function nftablesFailure(record: ProgramRecord): string | undefined {
  if (isFragment(record)) return isOfNft(record) ? textOfRecord(record) : undefined;
  const openings =
    record.program === 'kube-proxy' ? kubeProxyNftables : record.program === 'felix' ? felixNftables : [];
  return startsWithAny(record.message, openings) ? textOfRecord(record) : undefined;
}

/** Returns whether the record is a single line of kube-proxy's error. A syslog cuts long records into lines, so the rest is missing. */
function isFragment({ message, error, program }: ProgramRecord): boolean {
  return message === '' && error !== '' && program === 'kube-proxy';
}

function isOfNft({ error }: ProgramRecord): boolean {
  return error.startsWith('/dev/stdin:');
}

export function programmingFailure(record: ProgramRecord): string | undefined {
  return iptablesFailure(record) ?? nftablesFailure(record);
}

/** Returns whether kube-proxy was removing the rules of another mode. It does that only at its start, and no Service depends on it. */
export function isCleanup(record: ProgramRecord): boolean {
  return record.caller.endsWith('cleanup.go');
}
