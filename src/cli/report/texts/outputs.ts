/** Prints a report as a table for a terminal, as Markdown for a ticket, or as CSV for a spreadsheet. */
import type { AuditReport, ChangedPair } from '../model.ts';
import { numberText, plain } from './plain.ts';
import { type Cell, reportFacts, isNumeric, type Section, sectionsOf } from './contents.ts';
import { notesOf } from './notes.ts';

const mostRows = 25;
const widestCell = 60;

export function tableText(report: AuditReport): string {
  const facts = reportFacts(report).map(([name, value]) => `${name.padEnd(14)}${plain(value)}\n`);
  const notes = notesOf(report).map((note) => `! ${note}\n`);
  return [facts.join(''), notes.join(''), ...sectionsOf(report, mostRows).map(sectionText)]
    .filter((part) => part !== '')
    .join('\n');
}

function sectionText(section: Section): string {
  const { title, rows, more, empty } = section;
  const lines = rows.length === 0 ? [empty] : tableLines(section);
  if (more !== undefined) lines.push(`… ${more}`);
  return `${title}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}

function tableLines({ columns, rows }: Section): string[] {
  const texts = [
    columns.map(({ name }) => name.toUpperCase()),
    ...rows.map((row) => row.map((cell) => (typeof cell === 'number' ? numberText(cell) : shortened(plain(cell))))),
  ];
  const widths = columns.map((_, place) => Math.max(...texts.map((row) => row[place]?.length ?? 0)));
  return texts.map((row) =>
    columns
      .map((_, place) => (row[place] ?? '')[isNumeric({ rows }, place) ? 'padStart' : 'padEnd'](widths[place] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function shortened(text: string): string {
  return text.length > widestCell ? `${text.slice(0, widestCell - 1)}…` : text;
}

export function markdownText(report: AuditReport): string {
  const facts = reportFacts(report).map(([name, value]) => `- ${name}: ${code(plain(value))}\n`);
  const notes = notesOf(report).map((note) => `> ${note}\n`);
  return ['# Dropped traffic\n', facts.join(''), ...notes, ...sectionsOf(report, mostRows).map(markdownSection)].join(
    '\n',
  );
}

function markdownSection({ title, columns, rows, more, empty }: Section): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? numberText(cell) : code(plain(cell)))));
  const head = [
    columns.map(({ name }) => name),
    columns.map((_, place) => (isNumeric({ rows }, place) ? '--:' : '---')),
  ];
  const table = [...head, ...cells].map((row) => `| ${row.join(' | ')} |\n`).join('');
  return `## ${title}\n\n${rows.length === 0 ? `${empty}\n` : table}${more === undefined ? '' : `\n… ${more}\n`}`;
}

/**
 * Writes a code span, in which nothing is a link, a mention, an image, HTML or emphasis. `|` is escaped, because even there it would end
 * the cell of a table. Readers take a `|` behind an even number of backslashes as the end, too, and show one backslash less than there
 * is, so the number is made odd. The fence needs one backtick more than any run of backticks inside.
 */
function code(text: string): string {
  if (text === '') return '';
  const runs = text.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1);
  const pad = runs.length > 0 || /^ .* $/.test(text) ? ' ' : '';
  return `${fence}${pad}${text.replace(/\\+\|?|\|/g, escapedPipe)}${pad}${fence}`;
}

/** `run`: backslashes, a `|`, or both. */
function escapedPipe(run: string): string {
  if (!run.endsWith('|')) return run;
  return `${run.slice(0, -1)}${run.length % 2 === 0 ? '\\' : ''}\\|`;
}

const csvColumns: Readonly<Record<string, (pair: ChangedPair) => Cell>> = {
  source: ({ from }) => from,
  source_group: ({ fromGroup }) => fromGroup,
  destination: ({ to }) => to,
  destination_group: ({ toGroup }) => toGroup,
  service: ({ service }) => service,
  outcome: ({ action }) => action,
  packets: ({ packets }) => packets,
  at_least: ({ atLeast }) => (atLeast ? 'yes' : ''),
  records: ({ records }) => records,
  first: ({ first }) => new Date(first).toISOString(),
  last: ({ last }) => new Date(last).toISOString(),
  rule: ({ rule }) => rule,
  rules: ({ rules }) => rules,
  change: ({ change }) => change,
  verdict: ({ verdict }) => verdict,
};

export const csvHead = `${Object.keys(csvColumns).join(',')}\r\n`;

export function csvLine(pair: ChangedPair): string {
  const cells = Object.values(csvColumns).map((cellOf) => cellOf(pair));
  return `${cells.map((cell) => (typeof cell === 'number' ? String(cell) : quoted(cell))).join(',')}\r\n`;
}

/** Quotes as in RFC 4180. A text that a spreadsheet would read as a formula gets a `'` before it (OWASP, CSV injection). */
function quoted(cell: string): string {
  const text = plain(cell);
  const safe = /^\s*[=+\-@|%]/.test(text) ? `'${text}` : text;
  return /[",\r\n;']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
