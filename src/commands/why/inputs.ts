/** What `why` and `suggest` share: where objects are read from, and errors of what was given. */
import { printable } from '../../platform/printable.ts';
import { reasonOf } from '../../platform/system-error.ts';
import { hasReadEnough } from '../../platform/write-all.ts';
import type { WhyOptions } from '../options/why-options.ts';
import type { Streams } from '../terminal.ts';
import type { KnownObjects } from './known-objects.ts';
import { FileError, readSavedFiles } from './saved-files.ts';

/** `wholeNamespaces`: all Pods of the two Namespaces, and not only the two. */
export async function readObjects(
  options: WhyOptions,
  wholeNamespaces: boolean,
  err: (text: string) => void,
): Promise<KnownObjects> {
  if (options.files.length > 0) {
    const objects = readSavedFiles(options.files);
    for (const note of objects.notes) err(`kube-netfilter-tailer: note: ${printable(note)}\n`);
    // Most likely they were not saved, and the verdict would be a guess.
    if (objects.policies.size === 0) err('kube-netfilter-tailer: note: the files have no network policy\n');
    return objects;
  }
  // The client library is not needed for files.
  const { readCluster } = await import('./cluster.ts');
  return await readCluster(options, wholeNamespaces);
}

/** Errors of what was given, not of the program. */
const expected: ReadonlySet<string> = new Set(['FileError', 'EndError', 'ClusterError']);

/** What a command prints, and the exit status that is its answer. */
export interface Printed {
  readonly status: number;
  readonly text: string;
}

/** Runs a command. What was given wrong, and what cannot be written, ends it with 2: a status below that is a verdict. */
export async function withStatus(
  { out, err }: Pick<Streams, 'out' | 'err'>,
  command: () => Promise<Printed>,
): Promise<number> {
  try {
    const { status, text } = await command();
    print(out, text);
    return status;
  } catch (error) {
    if (!(error instanceof Error) || !isExpected(error)) throw error;
    const message = isWrite(error) ? `the output cannot be written: ${reasonOf(error)}` : error.message;
    const problems = error instanceof FileError ? error.problems : [message];
    for (const problem of problems) err(`kube-netfilter-tailer: ${printable(problem)}\n`);
    return 2;
  }
}

function print(out: Streams['out'], text: string): void {
  try {
    out(text);
  } catch (error) {
    // Who has read enough still gets the verdict as the status.
    if (!hasReadEnough(error)) throw error;
  }
}

function isExpected(error: Error): boolean {
  return expected.has(error.name) || isWrite(error);
}

function isWrite(error: NodeJS.ErrnoException): boolean {
  return error.syscall === 'write';
}
