/** Reads a line that is one cell of a row (Markdown, psql, mysql, tabs), or one value in a line of XML or HTML. */
import type { StampClock } from './clock.ts';
import { type Envelope, setTime } from './envelope.ts';
import { timeOf } from './json-fields.ts';
import type { KnownTexts } from './json-messages.ts';
import { withoutEntities, withoutMarks } from './quoting.ts';

/** The most cells that are looked at. */
const most = 64;
const tag = /<(?:!\[CDATA\[|[/?]?[A-Za-z][^<>]{0,1024}>)|\]\]>/g;
const attribute = /\s[\w:.-]{1,64}=(?:"([^"]{0,16384})"|'([^']{0,16384})')/g;
/** Matches texts that begin or end like markup. Programs in Go print `<nil>` within their lines. */
const markup = /^\s{0,64}<[A-Za-z!?][^<>]{0,1024}>|<\/[A-Za-z][\w:.-]{0,64}>|\/>|<!\[CDATA\[/;
/** Matches the text of a kernel line before a bar or tab that belongs to its LOG prefix. */
const ofLine = /kernel: |IN=/;

/** Matches the beginning of JSON. */
const opening = /[[{]\s{0,16}["[{]/;

/** Most lines have no separators of cells and values. */
export function mayHaveCells(text: string): boolean {
  return text.includes('|') || text.includes('\t') || text.includes('<');
}

/** `isLine`: whether a text is a line of a known format, perhaps with its own envelope. */
export function readCells(
  envelope: Envelope,
  clock: StampClock,
  known: KnownTexts,
  isLine: (text: string) => boolean,
): void {
  const { text } = envelope;
  // Some formats have bars and tabs themselves. A LOG line would have all text before it in its prefix.
  if (!text.includes('IN=') && known.reads(text)) return;
  const separator = separatorOf(text);
  const cells = isWithinValue(text, separator) ? [] : cellsOf(text, separator);
  const found = cells.findIndex((cell) => cell !== text && isLine(textOf(cell, separator)));
  if (found < 0 || cells.slice(0, found).some((cell) => ofLine.test(cell))) return;
  const { place } = clock.recent;
  const others = place.cells.filter((other) => other.separator !== separator);
  place.cells = [{ index: found, count: cells.length, separator }, ...others];
  takeCell(envelope, clock, { cells, separator, index: found });
}

/** Reads a cell at the place of the last line: it may continue that line's record. A cell that may itself be a line does not. */
export function readSameCell(envelope: Envelope, clock: StampClock, isLine: (text: string) => boolean): void {
  const { text } = envelope;
  const isMarkup = separatorOf(text) === undefined;
  for (const { separator, index, count } of clock.recent.place.cells) {
    // The text itself may have tabs.
    if ((separator === undefined) !== isMarkup || isWithinValue(text, separator)) continue;
    const cells = cellsOf(text, separator);
    if (cells.length !== count) continue;
    const padded = ofMarkup(cells[index] as string, separator);
    if (isLine(padded.trim())) return;
    takeCell(envelope, clock, { cells, separator, index });
    envelope.text = padded.trim();
    envelope.indent = /^\s{0,64}/.exec(padded)?.[0] ?? '';
    return;
  }
}

interface Row {
  cells: readonly string[];
  separator: string | undefined;
  index: number;
}

function takeCell(envelope: Envelope, clock: StampClock, { cells, separator, index }: Row): void {
  const others = cells.toSpliced(index, 1).flatMap((cell) => timeOf(textOf(cell, separator), clock) ?? []);
  // A row may also have the time when a collector took the line, which is later.
  const [first] = others.filter(({ exact }) => exact).toSorted((a, b) => a.time - b.time);
  if (first !== undefined) setTime(envelope, first.time, true, first.lacks);
  envelope.text = textOf(cells[index] as string, separator);
  envelope.layers.push('table row');
}

function textOf(cell: string, separator: string | undefined): string {
  return withoutMarks(ofMarkup(cell, separator).trim());
}

/** In markup, a cell has its own entities and those of the text. */
function ofMarkup(cell: string, separator: string | undefined): string {
  return separator === undefined ? withoutEntities(cell) : cell;
}

/** Returns undefined for markup. */
function separatorOf(text: string): string | undefined {
  if (markup.test(text)) return undefined;
  // Lines of OVN have bars without blanks.
  return ['\t', ' | '].find((each) => text.includes(each)) ?? '|';
}

/** Returns whether the first cell would end inside a quoted text or JSON, which are read first. */
function isWithinValue(text: string, separator: string | undefined): boolean {
  const end = separator === undefined ? text.search(tag) : text.indexOf(separator);
  const before = text.slice(0, Math.max(0, end));
  return opening.test(before) || before.replaceAll(/\\./g, '').split('"').length % 2 === 0;
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
  // The text before one bar or tab is a prefix, which further lines of the record also have.
  return cells.length < 3 ? [] : cells;
}

function valuesOf(text: string): string[] {
  const attributes = Array.from(text.matchAll(tag), ([each]) =>
    Array.from(each.matchAll(attribute), ([, double, single]) => double ?? single ?? ''),
  );
  return [...attributes.flat(), ...text.split(tag)].filter((each) => each !== '').slice(0, most);
}
