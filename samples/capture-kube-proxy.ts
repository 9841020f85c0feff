/**
 * node samples/capture-kube-proxy.ts [name]: makes kube-proxy-lw8zd-*.log anew, out of what a real kube-proxy prints on node-a of cluster.json
 * while its rules are deleted behind its back, or the xtables lock is held. Takes about three minutes, root and Linux.
 *
 * All is as it was printed but the time of day: the intervals are kept, and laid onto 2026-11-21.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '../test/e2e/control-plane/connection.ts';
import { createObjects } from '../test/e2e/control-plane/objects.ts';
import { createCriLog } from '../test/e2e/kube-proxy/cri-log.ts';
import { cleanUp } from '../test/e2e/kube-proxy/felix.ts';
import type { NodeNamespace } from '../test/e2e/kube-proxy/node-namespace.ts';
import { endpointSlice } from '../test/e2e/kube-proxy/objects.ts';
import { type KubeProxy, startKubeProxy } from '../test/e2e/kube-proxy/proxy.ts';
import { installPrograms } from '../test/programs/install.ts';
import { moved, withNode } from './capturing.ts';

interface Case {
  readonly name: string;
  readonly mode: 'iptables' | 'nftables';
  /** When the first line is said to have been printed. */
  readonly start: string;
  /** As the viewer of a cloud shows what was logged, instead of the container's log. */
  readonly isViewed?: true;
  readonly play: (place: NodeNamespace, proxy: KubeProxy, connection: Connection) => Promise<void>;
}

// The seconds are those of a kube-proxy as it is installed: what failed is tried again after 30 s.
const SETTINGS = { retry: 30, atMostEvery: 1000, verbosity: 2 };

const cases: readonly Case[] = [
  {
    name: 'kube-proxy-lw8zd-fight',
    mode: 'iptables',
    start: '2026-11-21T15:10:04.000Z',
    async play(place, proxy, connection) {
      for (const seconds of [0, 33, 40, 33]) {
        await delay(seconds * 1000);
        await cleanUp(place);
        await scale(connection, proxy);
      }
      await delay(33_000);
      await scale(connection, proxy);
      await delay(1500);
      await scale(connection, proxy);
    },
  },
  {
    name: 'kube-proxy-lw8zd-twice',
    mode: 'iptables',
    start: '2026-11-21T07:32:14.000Z',
    isViewed: true,
    async play(place, proxy, connection) {
      for (const chain of ['KUBE-SVC-TCOU7JCQXEZGVUNU', 'KUBE-SVC-L6LPUQKLZFD5NUFY']) {
        await deleteChain(place, chain);
        await scale(connection, proxy);
        await delay(3000);
        await scale(connection, proxy);
        await delay(3000);
      }
    },
  },
  {
    name: 'kube-proxy-lw8zd-lock',
    mode: 'iptables',
    start: '2026-11-21T16:42:31.000Z',
    async play(place, proxy, connection) {
      await delay(2000);
      const letGo = await place.holdLock();
      await scale(connection, proxy);
      await delay(75_000);
      await letGo();
      await delay(45_000);
      await scale(connection, proxy);
    },
  },
  {
    name: 'kube-proxy-lw8zd-nftables',
    mode: 'nftables',
    start: '2026-11-21T17:05:12.000Z',
    async play(place, proxy, connection) {
      for (let round = 0; round < 3; round++) {
        await place.run('nft', ['delete', 'table', 'ip', 'kube-proxy']);
        await scale(connection, proxy);
        await delay(34_000);
      }
      await scale(connection, proxy);
    },
  },
];

/** cart gets a second Pod, or loses it: one write. */
let carts = 0;
async function scale(connection: Connection, proxy: KubeProxy): Promise<void> {
  const addresses = carts++ % 2 === 0 ? ['10.244.0.31'] : ['10.244.0.31', '10.244.1.22'];
  const from = proxy.lines.length;
  const path = '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/cart-ipv4';
  const endpoints = addresses.map((address) => ({ addresses: [address], conditions: { ready: true } }));
  await connection.request('PATCH', path, { body: { endpoints }, contentType: 'application/merge-patch+json' });
  await proxy.untilLine(/"SyncProxyRules complete" ipFamily="IPv4"/, from);
}

const slices = [
  { namespace: 'default', service: 'kubernetes', addresses: ['192.168.50.11'], ports: [{ name: 'https', port: 6443 }] },
  {
    namespace: 'kube-system',
    service: 'kube-dns',
    addresses: ['10.244.0.10', '10.244.1.10'],
    ports: [
      { name: 'dns', port: 53, protocol: 'UDP' },
      { name: 'dns-tcp', port: 53 },
      { name: 'metrics', port: 9153 },
    ],
  },
  { namespace: 'monitoring', service: 'prometheus', addresses: ['10.244.0.50'], ports: [{ name: 'web', port: 9090 }] },
  {
    namespace: 'shop',
    service: 'cart',
    addresses: ['10.244.0.31', '10.244.1.22'],
    ports: [{ name: 'grpc', port: 9000 }],
  },
  { namespace: 'shop', service: 'postgres', addresses: ['10.244.1.30'], ports: [{ port: 5432 }] },
  {
    namespace: 'shop',
    service: 'web',
    addresses: ['10.244.0.21', '10.244.1.21'],
    ports: [{ name: 'http', port: 8080 }],
  },
];

/** One chain of the table nat, and the rules that lead to it. */
async function deleteChain(place: NodeNamespace, chain: string): Promise<void> {
  const { stdout } = await place.run('iptables-save', ['-t', 'nat']);
  const jumps = stdout.split('\n').filter((line) => line.endsWith(` -j ${chain}`));
  const input = [
    '*nat',
    `:${chain} - [0:0]`,
    ...jumps.map((rule) => rule.replace('-A', '-D')),
    `-X ${chain}`,
    'COMMIT',
    '',
  ];
  const { code, stderr } = await place.run('iptables-restore', ['--wait', '5', '--noflush'], input.join('\n'));
  if (code !== 0 || jumps.length === 0) throw new Error(`${chain} could not be deleted: ${stderr}`);
}

async function capture({ name, mode, start, isViewed, play }: Case): Promise<void> {
  await withNode(['Namespace', 'Node', 'Service'], async ({ connection, place, podLogs }) => {
    await createObjects(connection, { items: slices.map(endpointSlice) });
    const pod = { pod: 'kube-proxy-lw8zd', uid: '9f1a92ea-2d48-461a-acfe-1357b1932677' };
    const log = createCriLog({ podLogs, namespace: 'kube-system', ...pod, container: 'kube-proxy' });
    const proxy = startKubeProxy({ connection, place, node: 'node-a', log, mode, ...SETTINGS });
    await proxy.untilLine(/"SyncProxyRules complete" ipFamily="IPv6"/, 0);
    // What it prints when it starts names this machine; a file that the kubelet has begun anew does not have it.
    log.rotate();
    await scale(connection, proxy);
    await delay(2000);
    await play(place, proxy, connection);
    await proxy.stop();
    const text = moved(readFileSync(log.path, 'utf8'), Date.parse(start));
    writeFileSync(join(import.meta.dirname, `${name}.log`), isViewed === true ? viewed(text) : text);
    process.stdout.write(`${name}.log\n`);
  });
}

/** Without containerd's stamps; tabs are four spaces, and neither what marks a value of several lines nor its empty lines are there. */
function viewed(text: string): string {
  return text
    .replaceAll(/^\S+ stderr F /gm, '')
    .replaceAll(/=<$/gm, '=')
    .replaceAll('\t', '    ')
    .replaceAll(/^ +\n/gm, '');
}

await installPrograms('e2e');
const [only] = process.argv.slice(2);
for (const each of cases) if (only === undefined || each.name === only) await capture(each);
