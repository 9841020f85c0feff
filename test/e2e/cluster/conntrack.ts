import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { prober } from '../network/sending.ts';
import { outcomeOf } from '../outcome.ts';
import type { Node } from './node.ts';

const MAX = '/proc/sys/net/netfilter/nf_conntrack_max';

/**
 * Makes every connection tracking table of this machine that small (it is one limit for all), until the function that it gives
 * is called, which rejects unless the limit is what it was then, or this process has ended, however it has. Waits while another
 * process of this machine has changed it.
 */
export async function limitConntrack(max: number): Promise<() => Promise<void>> {
  // PIPE: the reader of what it prints may be gone.
  const script = `trap '' INT TERM PIPE; old=$(cat ${MAX}); echo ${max} > ${MAX} && echo $old; cat; echo $old > ${MAX}; cat ${MAX}`;
  // Detached: Ctrl-C in a terminal is not for it.
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

/** Has the kernel track that many new connections on a node, of UDP, and try no others. */
export async function fillConntrack({ run, outcome }: Node, connections: number): Promise<void> {
  const rule = ['-A', 'OUTPUT', '-m', 'conntrack', '--ctstate', 'ESTABLISHED', '-j', 'ACCEPT'];
  await run(['iptables', '--wait', ...rule]);
  const ends = { protocol: 'udp', source: '127.0.0.1', destination: '127.0.0.1', port: 9 };
  const probes = Array.from({ length: connections }, (_, index) => ({ ...ends, sourcePort: 40_000 + index }));
  // The sender gets an error for what the kernel drops (EPERM): the first that does not fit ends it.
  await outcome([process.execPath, prober], `${JSON.stringify(probes)}\n`);
}
