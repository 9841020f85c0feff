import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';

/** Writes a state file as earlier versions did: a header with a checksum, and all of the state. */
export function writeOldState(file: string, state: unknown): void {
  const body = JSON.stringify(state);
  const sha256 = createHash('sha256').update(body).digest('hex');
  writeFileSync(file, `${JSON.stringify({ format: 'kube-netfilter-tailer state', version: 1, sha256 })}\n${body}`);
}
