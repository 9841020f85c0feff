/** Answers a shell that completes a command line. Names of the cluster are read with the user's rights; without an answer, none are offered. */
import type { Command } from 'commander';
import { type CompletedLine, type CompletionWord, completionOf, type NameKind } from './options/completion.ts';

/** Bits that tell the shell how to continue (cobra's ShellCompDirective): no blank after the word, and no files. */
const noSpace = 2;
const noFiles = 4;

/** Prints one word per line, with its help after a tab, and at the end `:BITS`. Never rejects. */
export async function complete(root: Command, words: readonly string[], out: (text: string) => void): Promise<0> {
  const line = completionOf(root, words);
  const { completion, typed } = line;
  if (completion.kind === 'files') return (out(':0\n'), 0);
  const names = completion.kind === 'names' ? await namesFor(completion.of, completion.before, line) : [];
  const offered = [...completion.words, ...names].filter(({ word }) => word.startsWith(typed));
  const lines = offered.map(({ word, help }) => (help === '' ? word : `${word}\t${help}`));
  const isOpen = offered.length > 0 && offered.every(({ word }) => word.endsWith('/') || word.endsWith('='));
  out([...lines, `:${noFiles + (isOpen ? noSpace : 0)}`].map((each) => `${each}\n`).join(''));
  return 0;
}

async function namesFor(kind: NameKind, before: string, line: CompletedLine): Promise<CompletionWord[]> {
  try {
    // Loaded on demand, because most words need no cluster.
    const { clusterNames } = await import('./cluster-names.ts');
    const names = await clusterNames(kind, line.typed.slice(before.length), line);
    return names.map((name) => ({ word: before + name, help: '' }));
  } catch {
    // Without a cluster there is nothing to offer, and an error would stand in the middle of a command line.
    return [];
  }
}
