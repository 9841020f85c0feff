/**
 * node samples/capture-kube-network-policies.ts PROGRAM: makes kube-network-policies.log anew, out of what a real kube-network-policies, built from
 * its source (`go build ./cmd/kube-network-policies/standard`), prints on node-b of cluster.json. Takes a minute, root and Linux.
 *
 * An iptables rule hands it the packets, so the kernel need not have nft's `queue`. All is as it was printed but the date and the hour.
 */
import { on } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { startControlPlane } from '../test/e2e/control-plane/control-plane.ts';
import type { KubernetesObject } from '../test/e2e/control-plane/creatable.ts';
import { createObjects } from '../test/e2e/control-plane/objects.ts';
import { createCriLog } from '../test/e2e/kube-proxy/cri-log.ts';
import { createNodeNamespace } from '../test/e2e/kube-proxy/node-namespace.ts';
import { installPrograms } from '../test/programs/install.ts';

const day = '2026-11-21T14:';
const kinds = new Set(['Namespace', 'Node', 'Pod', 'NetworkPolicy']);

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
const connection = await startControlPlane();
const place = await createNodeNamespace(connection.server);
const podLogs = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-capture-'));
try {
  const { items } = JSON.parse(readFileSync(join(import.meta.dirname, 'cluster.json'), 'utf8')) as {
    items: KubernetesObject[];
  };
  await createObjects(connection, { items: items.filter(({ kind }) => kinds.has(kind)) });
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
  writeFileSync(join(import.meta.dirname, 'kube-network-policies.log'), moved(readFileSync(log.path, 'utf8')));
} finally {
  await place.destroy();
  await connection.stop();
  rmSync(podLogs, { recursive: true });
}

/** Lays it onto the day, and leaves out that this kernel's nft knows no queue, with the lines of the error. */
function moved(text: string): string {
  return text
    .replaceAll(/^.* logger="nftables-sync".*\n(?:\S+ \S+ F [\t ].*\n)*/gm, '')
    .replaceAll(/^\d{4}-\d\d-\d\dT\d\d:/gm, day)
    .replaceAll(/( [FP] [IWEF])\d{4} \d\d:/g, `$1${day.slice(5, 10).replace('-', '')} ${day.slice(11)}`);
}
