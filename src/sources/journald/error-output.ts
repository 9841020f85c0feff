import { printable } from '../../platform/printable.ts';

/** Kept of what a program writes to its standard error; what is older is forgotten. */
const longest = 2000;
const longestLine = 300;
const maxPublished = 10;

/** The last that a program has written to its standard error, fit for a notice. */
export interface ErrorOutput {
  add: (chunk: Buffer) => void;
  /** Lines that were not returned before; of very many different ones, the first few. */
  takeNew: () => string[];
  takeAll: () => string[];
}

export function createErrorOutput(): ErrorOutput {
  const published = new Set<string>();
  let text = '';
  return {
    add(chunk) {
      text = (text + chunk.toString('utf8')).slice(-longest);
    },
    takeNew() {
      const lines = linesOf(text).filter((line) => !published.has(line));
      const fresh = lines.slice(0, maxPublished - published.size);
      for (const line of fresh) published.add(line);
      return fresh;
    },
    takeAll() {
      const lines = linesOf(text);
      text = '';
      return lines;
    },
  };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => printable(line.trim()).slice(0, longestLine));
  return [...new Set(lines)].filter((line) => line !== '');
}
