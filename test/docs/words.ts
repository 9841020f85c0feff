import { retiredWords } from '../../scripts/lint/words.ts';

const rules = retiredWords
  .filter(({ namesOnly = false }) => !namesOnly)
  .map(({ pattern, say, except }) => {
    const all = except === undefined ? `\\b(${pattern})\\b` : `\\b(?:${except})\\b|\\b(${pattern})\\b`;
    return { find: new RegExp(all.replaceAll(' ', String.raw`\s+`), 'g'), say };
  });

/** The sentences of a document: blocks of code, code, paths, addresses of links and quoted texts become blanks; lines stay where they are. */
export function proseOf(markdown: string): string {
  return markdown
    .replaceAll(/^ *```.*?^ *```/gms, blank)
    .replaceAll(/`[^`]*`|\]\([^)\s]*\)|"[^"\n]*"|https?:\/\/\S+|\[[\w.-]+\/[\w./-]+(?=\])/g, blank);
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ');
}

/** Words of scripts/lint/words.ts in a text: `LINE: WORD; say: …`. */
export function retiredIn(text: string): string[] {
  const lower = text.toLowerCase();
  return rules.flatMap(({ find, say }) =>
    [...lower.matchAll(find)].flatMap(({ 1: word, index }) =>
      word === undefined ? [] : [`${lower.slice(0, index).split('\n').length}: ${word}; say: ${say}`],
    ),
  );
}
