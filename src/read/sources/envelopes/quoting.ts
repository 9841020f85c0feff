/** Takes off what terminals, mails, Markdown and HTML put around a line that somebody has copied. */

const colours = /\x1b\[[\d;]{0,16}[mK]/g;
const tags = /^(?:<\/?[a-z]{1,16}>){1,8}|(?:<\/[a-z]{1,16}>){1,8}$/g;
/** The characters that pages must escape (HTML, 13.3). Line breaks are left as they are, so a line stays one. */
const entities = /&(lt|gt|amp|quot|apos|nbsp|#(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])|#x[2-7][\da-f]);/gi;
const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'", nbsp: ' ' };
const json = /^[[{\s]{1,64}"/;
const tag = /<[A-Za-z!?/][^<>]{0,1024}>/;
/** The blank that pages do not break at, in UTF-8. */
const hardBlank = '\u00c2\u00a0';

export function withoutQuoting(line: string): string {
  let text = line;
  if (text.includes('\x1b')) text = text.replaceAll(colours, '');
  if (text.includes(hardBlank)) text = text.replaceAll(hardBlank, ' ');
  if (text.startsWith('<') || text.endsWith('>')) text = text.replaceAll(tags, '');
  // In JSON, they are those of a text in it.
  if (text.includes('&') && !json.test(text)) {
    // Between tags, an angle bracket of the line itself would look like another tag, as `<nil>` of programs in Go does.
    const kept = tag.test(text) ? '<>&' : '';
    text = text.replaceAll(entities, (entity, name: string) => {
      const character = characterOf(name.toLowerCase());
      return kept.includes(character) ? entity : character;
    });
  }
  if (text.startsWith('>')) text = text.replace(/^(?:> ?){1,8}/, '');
  // People write a fence on the line of the text, too.
  if (text.startsWith('```')) text = text.replace(/^`{3}(?=[^`\s])/, '');
  if (text.startsWith('`') && text.endsWith('`')) text = text.replace(/^`{1,3}([^`].*)(?<!`)`{1,3}$/, '$1');
  return text;
}

/** Takes the same off a text that stood in JSON, or in quotes. */
export function withoutInnerQuoting(text: string): string {
  return text.includes('\x1b') || text.includes('&') ? withoutQuoting(text) : text;
}

function characterOf(name: string): string {
  if (!name.startsWith('#')) return characters[name] ?? '';
  return String.fromCharCode(Number(name.startsWith('#x') ? `0${name.slice(1)}` : name.slice(1)));
}
