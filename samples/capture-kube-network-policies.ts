/**
 * node samples/capture-kube-network-policies.ts PROGRAM: makes kube-network-policies.log anew, out of what a real kube-network-policies, built from
 * its source (`go build ./cmd/kube-network-policies/standard`), prints on node-b of cluster.json. Takes a minute, root and Linux.
 *
 * An iptables rule hands it the packets, so the kernel need not have nft's `queue`. All is as it was printed but the time of day.
 */
import { on } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createCriLog } from '../test/e2e/kube-proxy/cri-log.ts';
import { installPrograms } from '../test/programs/install.ts';
import { moved, withNode } from './capturing.ts';

/** When the first line is said to have been printed. */
const start = Date.parse('2026-11-21T14:22:48.526Z');

/** Source, destination and its port. */
const connections: readonly (readonly [string, string, number])[] = [
  ['10.244.0.41', '10.244.1.30', 5432],
  ['10.244.1.21', '10.244.1.30', 5432],
  ['10.244.0.50', '10.244.1.30', 9187],
  ['fd00:10:244::32', 'fd00:10:244:1::15', 8080],
  ['10.244.0.42', '10.244.1.30', 5432],
];

const [program] = process.argv.slice(2);
if (program === undefined) throw new Error('Usage: node samples/capture-kube-network-policies.ts PROGRAM');
await installPrograms('e2e');
await withNode(['Namespace', 'Node', 'Pod', 'NetworkPolicy'], async ({ connection, place, podLogs }) => {
  const addresses = new Set(connections.flatMap(([source, destination]) => [source, destination]));
  for (const address of addresses) await place.run('ip', ['address', 'add', address, 'dev', 'lo']);
  // Its own connections to the API server are none of a Pod.
  for (const [iptables, loopback] of [
    ['iptables', '127.0.0.1'],
    ['ip6tables', '::1'],
  ] as const)
    await place.run(
      iptables,
      `-A OUTPUT -p tcp ! -d ${loopback} -m conntrack --ctstate NEW -j NFQUEUE --queue-num 98`.split(' '),
    );
  const pod = { pod: 'kube-network-policies-q7ztn', uid: '2f6a1c1e-7d52-4f0e-9f0c-5b0c8f3b7d11' };
  const log = createCriLog({ podLogs, namespace: 'kube-system', ...pod, container: 'kube-network-policies' });
  const options = ['--hostname-override=node-b', '--v=2', '--nfqueue-id=98', '--disable-nri'];
  const container = ['--pid', '--fork', '--kill-child', '--mount-proc'];
  const child = place.start('unshare', [
    ...container,
    program,
    `--kubeconfig=${connection.adminKubeconfig}`,
    ...options,
  ]);
  if (child.stderr === null) throw new Error('it has no standard error');
  const lines = createInterface(child.stderr).on('line', log.write);
  for await (const [line] of on(lines, 'line', { signal: AbortSignal.timeout(60_000) }))
    if (/Policy engine is ready/.test(line)) break;
  await delay(3000);
  // What it prints when it starts names this machine.
  log.rotate();
  for (const [localAddress, host, port] of connections) {
    const script = `require('node:net').connect({localAddress:'${localAddress}',host:'${host}',port:${port}}).on('error',()=>{})
setTimeout(()=>process.exit(),1500)`;
    await place.run(process.execPath, ['-e', script]);
  }
  child.kill('SIGKILL');
  const text = withoutNft(readFileSync(log.path, 'utf8'));
  writeFileSync(join(import.meta.dirname, 'kube-network-policies.log'), moved(text, start));
});

/** Leaves out that this kernel's nft knows no queue, with the lines of the error. */
function withoutNft(text: string): string {
  return text.replaceAll(/^.* logger="nftables-sync".*\n(?:\S+ \S+ F [\t ].*\n)*/gm, '');
}
