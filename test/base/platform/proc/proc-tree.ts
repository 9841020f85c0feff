import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder that looks like /proc, until the end of the test. Values that begin with `->` become links. */
export function procTree(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'proc-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    if (content.startsWith('->')) symlinkSync(content.slice(2), path);
    else writeFileSync(path, content, 'latin1');
  }
  return root;
}

const buckets = 'sys/net/netfilter/nf_conntrack_buckets';

/** Makes the reader's view of its own namespace. The number of buckets is writable only in the initial one. */
export function readerIn(root: string, namespace: 'initial' | 'another'): string {
  mkdirSync(dirname(join(root, buckets)), { recursive: true });
  writeFileSync(join(root, buckets), '65536\n');
  chmodSync(join(root, buckets), namespace === 'initial' ? 0o644 : 0o444);
  return root;
}
