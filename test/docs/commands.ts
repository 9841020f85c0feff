import { type Block, readMarkdown } from './markdown.ts';
import { asCommand } from './programs.ts';

/** A command line that a text gives its reader to run. */
export interface Command {
  /** Path in the repository. */
  readonly document: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly from: 'block' | 'sentence' | 'advice';
}

/**
 * All commands of a Markdown document, in order: each line of a `sh` block that is not a comment, the text after `$ `
 * in a `console` block (the rest is output), and code in sentences that begins like a command.
 */
export function commandsOf(document: string, markdown: string): Command[] {
  const { blocks, spans } = readMarkdown(markdown);
  const inBlocks = blocks.flatMap((block) =>
    linesOf(block).map(({ line, text }): Command => ({ document, line, text, from: 'block' })),
  );
  const inSentences = spans.flatMap(({ line, text }): Command[] => {
    const command = asCommand(text);
    return command === undefined ? [] : [{ document, line, text: command, from: 'sentence' }];
  });
  return [...inBlocks, ...inSentences].toSorted((left, right) => left.line - right.line);
}

interface Line {
  line: number;
  text: string;
}

function linesOf({ language, line, lines }: Block): Line[] {
  const numbered = lines.map((text, index) => ({ line: line + index, text }));
  if (language === 'sh') return joined(numbered);
  if (language !== 'console') return [];
  return numbered
    .filter(({ text }) => text.startsWith('$ '))
    .map(({ line: at, text }) => ({ line: at, text: text.slice(2) }));
}

/** Joins continued lines, and the lines of a here-document, into one command. */
function joined(lines: readonly Line[]): Line[] {
  const commands: Line[] = [];
  let unfinished: ((text: string) => boolean) | undefined;
  for (const { line, text } of lines) {
    const last = commands.at(-1);
    if (unfinished !== undefined && last !== undefined) {
      last.text += `\n${text}`;
      if (unfinished(text)) continue;
    } else {
      if (/^\s*(?:#|$)/.test(text)) continue;
      commands.push({ line, text });
    }
    unfinished = continuation(text, unfinished);
  }
  return commands;
}

/**
 * Returns undefined if the command ends here, otherwise a function that says of each further line whether yet another
 * follows.
 */
function continuation(
  text: string,
  before: ((text: string) => boolean) | undefined,
): ((text: string) => boolean) | undefined {
  const [, word] = /<<-?\s*['"]?(\w+)['"]?/.exec(text) ?? [];
  if (word !== undefined && before === undefined) return (line) => line.trim() !== word;
  return text.endsWith('\\') ? (line) => line.endsWith('\\') : undefined;
}
