/** A fenced block. `line`: of its first line of content, from 1. Lines are without the indentation of the fence. */
export interface Block {
  readonly language: string;
  readonly line: number;
  readonly lines: readonly string[];
}

/** Code in a sentence or a cell of a table. `line`: where it begins, from 1. */
export interface Span {
  readonly line: number;
  readonly text: string;
}

export interface Markdown {
  readonly blocks: readonly Block[];
  readonly spans: readonly Span[];
  /** Lines of code that is only indented. It has no language, so its kind is unknown. */
  readonly indented: readonly number[];
}

/** The part of CommonMark that the documents keep to: fences of three backticks, which are closed; code spans within a paragraph. */
export function readMarkdown(text: string): Markdown {
  const blocks: Block[] = [];
  const indented: number[] = [];
  const prose: string[] = [];
  let open: { indentation: number; language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const [, indentation = '', language = ''] = /^( *)```(.*)$/.exec(line) ?? [];
    const isFence = line.trimStart().startsWith('```');
    if (open !== undefined && !isFence) open.lines.push(line.slice(open.indentation));
    else if (!isFence && /^(?: {4}|\t)/.test(line) && isBreak(prose.at(-1)) && !isInList(prose))
      indented.push(index + 1);
    prose.push(open === undefined && !isFence ? line : '');
    if (!isFence) continue;
    if (open === undefined) open = { indentation: indentation.length, language, line: index + 2, lines: [] };
    else {
      blocks.push({ language: open.language, line: open.line, lines: open.lines });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`the fenced block that begins before line ${open.line} is not closed`);
  return { blocks, spans: spansOf(prose), indented };
}

function isBreak(line: string | undefined): boolean {
  return line === undefined || line === '';
}

/** Below a list item, an indented line is one of its paragraphs. */
function isInList(prose: readonly string[]): boolean {
  const last = prose.findLast((line) => line !== '');
  return last !== undefined && /^\s*(?:[-*]|\d+\.) |^ {2,}/.test(last);
}

/**
 * A span may continue on the next line of its paragraph, but not beyond the paragraph, so a lost backtick spoils no
 * more than that.
 */
function spansOf(prose: readonly string[]): Span[] {
  const spans: Span[] = [];
  let start = 0;
  for (let end = 0; end <= prose.length; end += 1) {
    const line = prose[end] ?? '';
    const isRow = line.startsWith('|');
    if (line === '' || isRow) {
      spans.push(...spansOfParagraph(prose.slice(start, end), start + 1));
      if (isRow) spans.push(...spansOfParagraph([line.replaceAll(String.raw`\|`, '|')], end + 1));
      start = end + 1;
    }
  }
  return spans;
}

function spansOfParagraph(lines: readonly string[], first: number): Span[] {
  const text = lines.join('\n');
  return [...text.matchAll(/(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/gs)].map(({ index, 2: code = '' }) => ({
    line: first + text.slice(0, index).split('\n').length - 1,
    text: code.replaceAll(/\s*\n\s*/g, ' ').trim(),
  }));
}
