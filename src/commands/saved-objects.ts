/** The files of `--pods`. */
import type { Json } from '../platform/json.ts';
import { readSnapshot, type Snapshot } from '../kubernetes/snapshot.ts';
import { UsageError } from './options/command.ts';

/** The command whose output `--pods` takes. */
export const saveCommand = 'kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json';

/**
 * Throws a `UsageError` where a file is not what it should be: gigabytes of log may follow, and nothing would be shown. `alsoTake`: as of
 * `readSnapshot`.
 */
export function readSavedObjects(files: readonly string[], alsoTake: (document: Json) => number): Snapshot {
  const snapshot = readSnapshot(files, alsoTake);
  if (snapshot.unusable.length === 0) return snapshot;
  throw new UsageError(
    [...snapshot.unusable.map((reason) => `--pods ${reason}`), `nothing was read. For --pods: ${saveCommand}`],
    'kube-netfilter-tailer replay',
  );
}
