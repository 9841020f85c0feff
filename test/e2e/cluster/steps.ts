import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, readMarkdown } from '../../docs/markdown.ts';

const quickstart = join(import.meta.dirname, '../../../docs/quickstart.md');

/** Commands, and their output: the block of text that follows them, if there is one. */
export interface Step {
  readonly commands: string;
  readonly shown: readonly string[];
}

/** The steps of a section of docs/quickstart.md. */
export function stepsOf(heading: string): Step[] {
  const [, section] = readFileSync(quickstart, 'utf8').split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`docs/quickstart.md has no section "${heading}"`);
  const { blocks } = readMarkdown(section.split('\n## ')[0] ?? '');
  return blocks.flatMap(({ language, lines }, index) => {
    if (language !== 'sh') return [];
    const next: Block | undefined = blocks[index + 1];
    return [{ commands: `${lines.join('\n')}\n`, shown: next?.language === 'text' ? next.lines : [] }];
  });
}

/**
 * The shown lines that were not printed in that order. Numbers and generated names may differ; `…` stands for any text,
 * and on a line of its own for any lines.
 */
export function notPrinted(shown: readonly string[], output: string): string[] {
  const printed = output.split('\n').map(comparable);
  let from = 0;
  return shown.filter((line) => {
    if (line.trim() === '…') return false;
    const pattern = new RegExp(`^${comparable(line).split('…').map(escapeRegExp).join('.*')}$`);
    const found = printed.findIndex((each, index) => index >= from && pattern.test(each));
    if (found === -1) return true;
    from = found + 1;
    return false;
  });
}

/** Devices of Pods have letters of a hash in their names, and the Pod may be on any node. */
function comparable(line: string): string {
  return line
    .replaceAll(/\b(?:cali[0-9a-f]{11}|veth[0-9a-f]{8})\b/g, 'cali0')
    .replaceAll(/\bnode-[ab]\b/g, 'node')
    .replaceAll(/\d+/g, '0')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
