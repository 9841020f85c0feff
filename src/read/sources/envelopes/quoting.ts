/** Takes off what terminals, mails, Markdown and HTML put around a line that somebody has copied. */

const colours = /\x1b\[[\d;]{0,16}[mK]/g;
/** Matches what a terminal no longer shows: the cursor went back, and the line was erased. */
const erased = /^[^\n]{0,4096}\r(?=\x1b\[[02]?K)/;
const tags = /^(?:<\/?[a-z]{1,16}>){1,8}|(?:<\/[a-z]{1,16}>){1,8}$/g;
/** The characters that pages must escape (HTML, 13.3). Line breaks are left as they are, so a line stays one. */
const entities = /&(lt|gt|amp|quot|apos|nbsp|#(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])|#x[2-7][\da-f]);/gi;
const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ' };
const json = /^[[{\s]{1,64}"/;
const quotes = /&(?:quot|#34|#x22);/i;
/** The blank that pages do not break at, in UTF-8. */
const hardBlank = '\u00c2\u00a0';

/** Matches a quotation, a fence, and the mark of an item or of a changed line. */
export const mayBeginWithMark = /^(?:[>`]|[*+-] |\u00e2\u0080\u00a2 )/;
const item = /^(?:[*+-]|\u00e2\u0080\u00a2) (?!\s{0,8}["']|\s{8})/;

/** Takes both off a line that was saved from wherever people copy. */
export function withoutQuoting(line: string): string {
  return withoutEntities(withoutMarks(line));
}

/** Takes off what stands around a line: colours, tags, a quotation, a fence. Entities within it are left. */
export function withoutMarks(line: string): string {
  let text = line;
  if (text.includes('\x1b')) text = text.replace(erased, '').replaceAll(colours, '');
  if (text.includes(hardBlank)) text = text.replaceAll(hardBlank, ' ');
  if (text.startsWith('<') || text.endsWith('>')) text = text.replaceAll(tags, '');
  if (text.startsWith('>')) text = text.replace(/^(?:> ?){1,8}/, '');
  if (mayBeginWithMark.test(text)) text = text.replace(item, '');
  // People write a fence on the line of the text, too.
  if (text.startsWith('```')) text = text.replace(/^`{3}(?=[^`\s])/, '');
  if (text.startsWith('`') && text.endsWith('`')) text = text.replace(/^`{1,3}([^`].*)(?<!`)`{1,3}$/, '$1');
  return text;
}

/** Reads the entities of a text that stood in a page, once. */
export function withoutEntities(text: string): string {
  if (!text.includes('&') || json.test(text)) return text;
  // A page that spells quotes so has no other ones, so these are those of a text within quotes.
  if (text.includes('"') && quotes.test(text)) return text;
  return text.replaceAll(entities, (_, name: string) => characterOf(name.toLowerCase()));
}

function characterOf(name: string): string {
  if (!name.startsWith('#')) return characters[name] ?? '';
  return String.fromCharCode(Number(name.startsWith('#x') ? `0${name.slice(1)}` : name.slice(1)));
}
