import type { Pair } from '../model.ts';
import { plain } from './plain.ts';

/** Every pair, for a spreadsheet. */
export const csvHead =
  'source,source_group,destination,destination_group,service,outcome,packets,at_least,records,first,last,rule,rules,change,verdict\r\n';

/** `change` is `new`, `gone`, or empty for what the baseline has, too. */
export function csvLine(pair: Pair, change: string): string {
  const {
    from,
    fromGroup,
    to,
    toGroup,
    service,
    action,
    packets,
    atLeast,
    records,
    first,
    last,
    rule,
    rules,
    verdict,
  } = pair;
  const cells = [
    from,
    fromGroup,
    to,
    toGroup,
    service,
    action,
    packets,
    atLeast ? 'yes' : '',
    records,
    stamp(first),
    stamp(last),
    rule,
    rules,
    change,
    verdict,
  ];
  return `${cells.map((cell) => (typeof cell === 'number' ? String(cell) : quoted(cell))).join(',')}\r\n`;
}

function stamp(time: number): string {
  return new Date(time).toISOString();
}

/** RFC 4180. A spreadsheet takes what begins so for a formula (OWASP, CSV injection). */
function quoted(cell: string): string {
  const text = plain(cell);
  const safe = /^\s*[=+\-@|%]/.test(text) ? `'${text}` : text;
  return /[",\r\n;']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
