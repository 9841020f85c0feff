import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder that is removed when the process ends, even by Ctrl-C. */
export function scratchFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `kube-netfilter-tailer-${name}-`));
  // At that moment, programs that were started may still be writing.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
  return folder;
}
