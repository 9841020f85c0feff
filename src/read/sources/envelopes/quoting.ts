/** Removes marks of terminals, mails, Markdown and HTML around a copied line. */

const colours = /\x1b\[[\d;]{0,16}[mK]/g;
/** Matches text that a terminal no longer shows, because the cursor went back and the line was erased. */
const erased = /^[^\n]{0,4096}\r(?=\x1b\[[02]?K)/;
const tags = /^(?:<\/?[a-z]{1,16}>){1,8}|(?:<\/[a-z]{1,16}>){1,8}$/g;
/** The characters that pages must escape (HTML, 13.3). Line breaks are left as they are, so a line stays one. */
const entities = /&(lt|gt|amp|quot|apos|nbsp|#(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])|#x[2-7][\da-f]);/gi;
const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ' };
const json = /^[[{\s]{1,64}"/;
const quotes = /&(?:quot|#34|#x22);/i;
/** The non-breaking space, in UTF-8. */
const hardBlank = '\u00c2\u00a0';

/** The border of a window in a terminal (k9s), in UTF-8. */
const bar = '\u00e2\u0094\u0082';
const leftBorder = /^(?:\u00e2\u0094\u0082){1,2} ?/;

/** Matches a quotation, a fence, and the mark of an item or of a changed line. */
export const mayBeginWithMark = /^(?:[>`]|[*+-] |\u00e2\u0080\u00a2 )/;
/** Match the marks of code around several lines. iptables puts such a mark before a name as well, with another quote after the name. */
const codeBegins = /^`(?=[{[<]|[^`'\s]{1,256}\s)/;
const codeEnds = /^([^`]+)`{1,3}$/;
const item = /^(?:[*+-]|\u00e2\u0080\u00a2) (?!\s{0,8}["']|\s{8})/;

/** Removes both from a line that people have copied from anywhere. */
export function withoutQuoting(line: string): string {
  return withoutEntities(withoutMarks(line));
}

/** Removes colours, borders, tags, quotation marks and fences around a line. Entities inside it stay. */
export function withoutMarks(line: string): string {
  let text = line;
  if (text.includes('\x1b')) text = text.replace(erased, '').replaceAll(colours, '');
  if (text.includes(hardBlank)) text = text.replaceAll(hardBlank, ' ');
  if (text.startsWith(bar)) text = withoutBorders(text);
  if (text.startsWith('<') || text.endsWith('>')) text = text.replaceAll(tags, '');
  if (text.startsWith('>')) text = text.replace(/^(?:> ?){1,8}/, '');
  if (mayBeginWithMark.test(text)) text = text.replace(item, '');
  // People write a fence on the line of the text, too.
  if (text.startsWith('```')) text = text.replace(/^`{3}(?=[^`\s])/, '');
  if (text.startsWith('`') && text.endsWith('`')) text = text.replace(/^`{1,3}([^`].*)(?<!`)`{1,3}$/, '$1');
  if (text.startsWith('`')) text = text.replace(codeBegins, '');
  else if (text.endsWith('`')) text = text.replace(codeEnds, '$1');
  return text;
}

/** Windows may be within one another. */
function withoutBorders(line: string): string {
  let text = line.replace(leftBorder, '').trimEnd();
  for (let borders = 0; borders < 2 && text.endsWith(bar); borders++) text = text.slice(0, -bar.length).trimEnd();
  return text;
}

/** Decodes the entities of a text from a page, once. */
export function withoutEntities(text: string): string {
  if (!text.includes('&') || json.test(text)) return text;
  // A page that spells quotes this way has no other quotes, so these enclose a text.
  if (text.includes('"') && quotes.test(text)) return text;
  return text.replaceAll(entities, (_, name: string) => characterOf(name.toLowerCase()));
}

function characterOf(name: string): string {
  if (!name.startsWith('#')) return characters[name] ?? '';
  return String.fromCharCode(Number(name.startsWith('#x') ? `0${name.slice(1)}` : name.slice(1)));
}
