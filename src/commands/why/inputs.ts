/** What `why` and `suggest` share: where objects are read from, and errors of what was given. */
import { printable } from '../../platform/printable.ts';
import type { WhyOptions } from '../options/why-options.ts';
import type { KnownObjects } from './known-objects.ts';
import { readSavedFiles } from './saved-files.ts';

/** `wholeNamespaces`: all Pods of the two Namespaces, and not only the two. */
export async function readObjects(
  options: WhyOptions,
  wholeNamespaces: boolean,
  err: (text: string) => void,
): Promise<KnownObjects> {
  if (options.files.length > 0) {
    const objects = readSavedFiles(options.files);
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

/** Runs a command; what was given wrong is printed, and ends it with 2. */
export async function withStatus(err: (text: string) => void, command: () => Promise<number>): Promise<number> {
  try {
    return await command();
  } catch (error) {
    if (!(error instanceof Error) || !expected.has(error.name)) throw error;
    err(`kube-netfilter-tailer: ${printable(error.message)}\n`);
    return 2;
  }
}
