import type { ProgramRecord } from '../../model/program-record.ts';

/** Error texts may hold all rules of a node; what tells stands in the first lines. Characters. */
const textLimit = 16_384;

/** Of a quote, in characters. */
const quoteLimit = 200;

/** What a record says in words: old releases put the error into the message, newer ones into a field. */
export function said(record: ProgramRecord): string {
  const text = record.error === '' ? record.message : `${record.message}\n${record.error}`;
  return text.length > textLimit ? text.slice(0, textLimit) : text;
}

/** The line of the text that `index` is in, as a quote. */
export function lineAt(text: string, index: number): string {
  const begin = text.lastIndexOf('\n', index - 1) + 1;
  const end = text.indexOf('\n', index);
  return quotable(text.slice(begin, end === -1 ? undefined : end));
}

/** One line of printable text without white space around it, at most 200 characters. */
export function quotable(line: string): string {
  const text = line
    .slice(0, 4 * quoteLimit)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return text.length > quoteLimit ? `${text.slice(0, quoteLimit - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;
}

/** What is left when nothing tells more: the first line of the error that is no bare exit status, else the message. */
export function firstLine(record: ProgramRecord): string {
  let begin = 0;
  const { error } = record;
  while (begin < error.length && begin < textLimit) {
    const found = error.indexOf('\n', begin);
    const end = found === -1 ? error.length : found;
    const line = quotable(error.slice(begin, end));
    if (
      line !== '' &&
      !/^(?:writing out buffer: )?exit status \d+:?(?: Ignoring deprecated --wait-interval option\.)?$/.test(line)
    )
      return line;
    begin = end + 1;
  }
  const end = record.message.indexOf('\n');
  return quotable(end === -1 ? record.message : record.message.slice(0, end));
}

/** Whether it is said loudly enough to be a failure. */
export function isProblem(record: ProgramRecord): boolean {
  return record.severity !== 'info' && record.severity !== 'debug';
}

export function startsWithAny(text: string, heads: readonly string[]): boolean {
  for (const head of heads) if (text.startsWith(head)) return true;
  return false;
}
