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
  const cells = cellsOf(text);
  const found = cells.findIndex((cell) => cell !== text && isLine(cell));
  if (found < 0 || cells.slice(0, found).some((cell) => ofLine.test(cell))) return;
  const others = cells.toSpliced(found, 1).flatMap((cell) => timeOf(cell, clock) ?? []);
  // A row may also say when a collector took the line, which is later.
  const [first] = others.filter(({ exact }) => exact).toSorted((a, b) => a.time - b.time);
  if (first !== undefined) setTime(envelope, first.time, true, first.lacks);
  envelope.text = cells[found] as string;
  envelope.layers.push('table row');
}

function cellsOf(text: string): string[] {
  if (markup.test(text)) return valuesOf(text);
  const isTable = text.includes('\t') || text.startsWith('|') || text.includes(' | ');
  // Lines of OVN have bars without blanks.
  const separator = ['\t', ' | '].find((each) => text.includes(each)) ?? '|';
  const cells = isTable
    ? text
        .replace(/^\|(?= )/, ' |')
        .replace(/ \|$/, ' | ')
        .split(separator, most)
    : [];
  // What stands before one bar or tab is a prefix, which further lines of the record have as well.
  return cells.length < 3 ? [] : cells.map((cell) => withoutQuoting(cell.trim()));
}

function valuesOf(text: string): string[] {
  const attributes = Array.from(text.matchAll(tag), ([each]) =>
    Array.from(each.matchAll(attribute), ([, double, single]) => double ?? single ?? ''),
  );
  return [...attributes.flat(), ...text.split(tag).map((each) => each.trim())]
    .filter((each) => each !== '')
    .slice(0, most);
}
