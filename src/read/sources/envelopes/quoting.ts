/** Takes off what terminals, mails, Markdown and HTML put around a line that somebody has copied. */

const colours = /\x1b\[[\d;]{0,16}[mK]/g;
const tags = /^(?:<\/?[a-z]{1,16}>){1,8}|(?:<\/[a-z]{1,16}>){1,8}$/g;
/** The characters that pages must escape (HTML, 13.3). Line breaks are left as they are, so a line stays one. */
const entities = /&(lt|gt|amp|quot|apos|#34|#39|#x22|#x27);/gi;
const characters: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

export function withoutQuoting(line: string): string {
  let text = line;
  if (text.includes('\x1b')) text = text.replaceAll(colours, '');
  if (text.startsWith('<') || text.endsWith('>')) text = text.replaceAll(tags, '');
  if (text.includes('&')) text = text.replaceAll(entities, (_, name: string) => characterOf(name.toLowerCase()));
  if (text.startsWith('>')) text = text.replace(/^(?:> ?){1,8}/, '');
  if (text.startsWith('`') && text.endsWith('`')) text = text.replace(/^`{1,3}([^`].*)(?<!`)`{1,3}$/, '$1');
  return text;
}

function characterOf(name: string): string {
  return characters[name] ?? (name === '#34' || name === '#x22' ? '"' : "'");
}
