import type { Report } from '../model.ts';
import { numberText, plain } from './plain.ts';
import type { Cell, Section } from './section.ts';
import { factsOf, notesOf, sectionsOf } from './sections.ts';

const mostRows = 25;
const widestCell = 60;

/** For a terminal. */
export function tableText(report: Report): string {
  const facts = factsOf(report)
    .map(([name, value]) => `${name.padEnd(14)}${plain(value)}\n`)
    .join('');
  const notes = notesOf(report).map((note) => `! ${note}\n`);
  return [facts, notes.join(''), ...sectionsOf(report, mostRows).map(sectionText)]
    .filter((part) => part !== '')
    .join('\n');
}

function sectionText({ title, columns, rows, more, empty }: Section): string {
  const body =
    rows.length === 0
      ? `  ${empty}\n`
      : columnsText([columns.map((name) => name.toUpperCase()), ...rows]).replace(/^(?=.)/gm, '  ');
  return `${title}\n${body}${more === undefined ? '' : `  … ${more}\n`}`;
}

function columnsText(rows: readonly (readonly Cell[])[]): string {
  const texts = rows.map((row) =>
    row.map((cell) => (typeof cell === 'number' ? numberText(cell) : shortened(plain(cell)))),
  );
  const isNumber = (rows.at(-1) ?? []).map((cell) => typeof cell === 'number');
  const widths = isNumber.map((_, column) => Math.max(...texts.map((row) => row[column]?.length ?? 0)));
  return texts
    .map((row) =>
      row
        .map((text, column) =>
          isNumber[column] === true ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

function shortened(text: string): string {
  return text.length > widestCell ? `${text.slice(0, widestCell - 1)}…` : text;
}
