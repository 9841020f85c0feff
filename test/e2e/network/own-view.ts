import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, outcomeOf } from '../outcome.ts';
import { LOG_ALL_NAMESPACES } from './kernel-access.ts';

/** Processes see this instead of the machine's network namespaces and its switch: only their own, and a file in its place. */
export interface OwnView {
  /** Runs a module of Node.js, as text, to its end whatever that is. */
  readonly run: (module: string) => Promise<Outcome & { readonly pid: number }>;
  readonly namespaces: () => readonly string[];
  readonly readSwitch: () => string;
  readonly close: () => Promise<void>;
}

/** The first process of a mount namespace, which holds it until its standard input ends. */
const script = `
set -eu
mkdir -p /run/netns
mount -t tmpfs tmpfs /run/netns
mount --bind "$1" "$2"
echo $$
exec cat > /dev/null
`;

/** The switch begins as `0`. */
export async function openOwnView(): Promise<OwnView> {
  const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-view-'));
  const ownSwitch = join(folder, 'switch');
  writeFileSync(ownSwitch, '0\n');
  const unshare = ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ownSwitch, LOG_ALL_NAMESPACES];
  const holder = spawn('unshare', unshare, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(holder, 'exit');
  const failed = ended.then(() => {
    throw new Error('[network] no mount namespace could be made');
  });
  const [printed] = (await Promise.race([once(holder.stdout, 'data'), failed])) as [Buffer];
  failed.catch(() => {});
  const pid = printed.toString().trim();
  return {
    async run(module) {
      const node = [process.execPath, '--input-type=module', '--eval', module];
      // nsenter becomes Node.js: the process is the same.
      const child = spawn('nsenter', [`--target=${pid}`, '--mount', '--wdns=/', ...node], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      return { ...(await outcomeOf(child)), pid: child.pid ?? 0 };
    },
    namespaces: () => readdirSync(`/proc/${pid}/root/run/netns`),
    readSwitch: () => readFileSync(ownSwitch, 'utf8').trim(),
    async close() {
      holder.stdin.end();
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
