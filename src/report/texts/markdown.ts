import type { Report } from '../model.ts';
import { numberText, plain } from './plain.ts';
import type { Cell, Section } from './section.ts';
import { factsOf, notesOf, sectionsOf } from './sections.ts';

const mostRows = 25;

/** For a ticket or a pull request. */
export function markdownText(report: Report): string {
  return [
    '# Dropped traffic\n',
    factsOf(report)
      .map(([name, value]) => `- ${name}: ${code(plain(value))}\n`)
      .join(''),
    ...notesOf(report).map((note) => `> ${note}\n`),
    ...sectionsOf(report, mostRows).map(sectionText),
  ].join('\n');
}

function sectionText({ title, columns, rows, more, empty }: Section): string {
  return `## ${title}\n\n${rows.length === 0 ? `${empty}\n` : tableOf(columns, rows)}${more === undefined ? '' : `\n… ${more}\n`}`;
}

function tableOf(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const align = columns.map((_, column) => (typeof rows[0]?.[column] === 'number' ? '--:' : '---'));
  return [columns, align, ...rows.map((row) => row.map(cellText))]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

function cellText(cell: Cell): string {
  return typeof cell === 'number' ? numberText(cell) : code(plain(cell));
}

/**
 * A code span: nothing in it is a link, a mention, an image, HTML or emphasis. A table takes `|` for the end of a cell even there, and a
 * fence has one backtick more than any run of them inside.
 */
function code(text: string): string {
  if (text === '') return '';
  const runs = text.match(/`+/g) ?? [];
  const fence = '`'.repeat(Math.max(0, ...runs.map((run) => run.length)) + 1);
  const pad = runs.length > 0 || /^ .* $/.test(text) ? ' ' : '';
  return `${fence}${pad}${text.replaceAll('|', String.raw`\|`)}${pad}${fence}`;
}
