import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { prober } from '../network/sending.ts';
import { outcomeOf } from '../outcome.ts';
import type { Node } from './node.ts';

const MAX = '/proc/sys/net/netfilter/nf_conntrack_max';

/**
 * Makes every connection tracking table of this machine this small (one limit holds for all), until the returned
 * function is called or this process has ended in any way. The returned function rejects unless the limit is then what
 * it was before. Waits while another process of this machine has changed the limit.
 */
export async function limitConntrack(max: number): Promise<() => Promise<void>> {
  // PIPE is ignored, because the reader of its output may be gone.
  const script = `trap '' INT TERM PIPE; old=$(cat ${MAX}); echo ${max} > ${MAX} && echo $old; cat; echo $old > ${MAX}; cat ${MAX}`;
  // Detached, so that Ctrl-C in a terminal does not reach it.
  const child = spawn('flock', ['--no-fork', MAX, 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = outcomeOf(child);
  await Promise.race([once(child.stdout, 'data'), ended]);
  return async () => {
    child.stdin.end();
    const [before, after] = (await ended).stdout.split('\n');
    if (before !== after) throw new Error(`[conntrack] ${MAX} is ${after} and was ${before}`);
  };
}

/** Makes the kernel of a node track this many new UDP connections, and tries no more than these. */
export async function fillConntrack({ run, outcome }: Node, connections: number): Promise<void> {
  const rule = ['-A', 'OUTPUT', '-m', 'conntrack', '--ctstate', 'ESTABLISHED', '-j', 'ACCEPT'];
  await run(['iptables', '--wait', ...rule]);
  const ends = { protocol: 'udp', source: '127.0.0.1', destination: '127.0.0.1', port: 9 };
  const probes = Array.from({ length: connections }, (_, index) => ({ ...ends, sourcePort: 40_000 + index }));
  // The sender gets an error (EPERM) for a packet that the kernel drops, so the first one that does not fit ends it.
  await outcome([process.execPath, prober], `${JSON.stringify(probes)}\n`);
}
