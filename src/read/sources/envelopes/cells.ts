/** Reads a line that is one cell of a row (Markdown, psql, mysql, tabs), or one value in a line of XML or HTML. */
import type { StampClock } from './clock.ts';
import { type Envelope, setTime } from './envelope.ts';
import { timeOf } from './json-fields.ts';
import type { KnownTexts } from './json-messages.ts';
import { withoutQuoting } from './quoting.ts';

/** The most cells that are looked at. */
const most = 64;
const tag = /<(?:!\[CDATA\[|[/?]?[A-Za-z][^<>]{0,1024}>)|\]\]>/g;
const attribute = /\s[\w:.-]{1,64}=(?:"([^"]{0,16384})"|'([^']{0,16384})')/g;
/** Matches what begins or ends as markup does. Programs in Go print `<nil>` within their lines. */
const markup = /^\s{0,64}<[A-Za-z!?][^<>]{0,1024}>|<\/[A-Za-z][\w:.-]{0,64}>|\/>|<!\[CDATA\[/;
/** Matches what stands in a line of the kernel before a bar or a tab that is the LOG prefix's own. */
const ofLine = /kernel: |IN=/;

/** Most lines of logs have nothing that separates cells and values. */
export function mayHaveCells(text: string): boolean {
  return text.includes('|') || text.includes('\t') || text.includes('<');
}

/** `isLine`: whether a text is a line of a known format, perhaps with an envelope of its own. */
export function readCells(
  envelope: Envelope,
  clock: StampClock,
  known: KnownTexts,
  isLine: (text: string) => boolean,
): void {
  const { text } = envelope;
  // Some formats have bars and tabs themselves. A LOG line would have all that stands before it in its prefix.
  if (!text.includes('IN=') && known.reads(text)) return;
  const separator = separatorOf(text);
  const cells = cellsOf(text, separator);
  const found = cells.findIndex((cell) => cell !== text && isLine(textOf(cell)));
  if (found < 0 || cells.slice(0, found).some((cell) => ofLine.test(cell))) return;
  clock.recent.place.cell = { index: found, cells: cells.length, separator };
  takeCell(envelope, clock, cells, found);
}

/** Reads a cell in the place of the last one that was a line: it may go on the record of that line. What may be a line is none. */
export function readSameCell(envelope: Envelope, clock: StampClock, isLine: (text: string) => boolean): void {
  const { cell } = clock.recent.place;
  const cells = cell === undefined ? [] : cellsOf(envelope.text, cell.separator);
  if (cell === undefined || cells.length !== cell.cells) return;
  const padded = withoutQuoting(cells[cell.index] as string);
  if (isLine(padded.trim())) return;
  takeCell(envelope, clock, cells, cell.index);
  envelope.text = padded.trim();
  envelope.indent = /^\s{0,64}/.exec(padded)?.[0] ?? '';
}

function takeCell(envelope: Envelope, clock: StampClock, cells: readonly string[], index: number): void {
  const others = cells.toSpliced(index, 1).flatMap((cell) => timeOf(textOf(cell), clock) ?? []);
  // A row may also say when a collector took the line, which is later.
  const [first] = others.filter(({ exact }) => exact).toSorted((a, b) => a.time - b.time);
  if (first !== undefined) setTime(envelope, first.time, true, first.lacks);
  envelope.text = textOf(cells[index] as string);
  envelope.layers.push('table row');
}

function textOf(cell: string): string {
  return withoutQuoting(cell.trim());
}

/** Returns undefined for markup. */
function separatorOf(text: string): string | undefined {
  if (markup.test(text)) return undefined;
  // Lines of OVN have bars without blanks.
  return ['\t', ' | '].find((each) => text.includes(each)) ?? '|';
}

function cellsOf(text: string, separator: string | undefined): string[] {
  if (separator === undefined) return valuesOf(text);
  const isTable = separator !== '|' || text.startsWith('|');
  const cells = isTable
    ? text
        .replace(/^\|(?= )/, ' |')
        .replace(/ \|$/, ' | ')
        .split(separator, most)
    : [];
  // What stands before one bar or tab is a prefix, which further lines of the record have as well.
  return cells.length < 3 ? [] : cells;
}

function valuesOf(text: string): string[] {
  const attributes = Array.from(text.matchAll(tag), ([each]) =>
    Array.from(each.matchAll(attribute), ([, double, single]) => double ?? single ?? ''),
  );
  return [...attributes.flat(), ...text.split(tag)].filter((each) => each !== '').slice(0, most);
}
