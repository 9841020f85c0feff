import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { nodeObject } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createNodeNamespace, type NodeNamespace } from './node-namespace.ts';
import { type KubeProxy, startKubeProxy } from './proxy.ts';

/**
 * What a real kube-proxy prints in cases that test/e2e/cluster/incidents.test.ts does not cause, compared with what
 * parsers and causes expect.
 */

const connection = connect(inject('controlPlane'));
const node = 'probe-node';
const synced = /"SyncProxyRules complete" ipFamily="IPv4"/;
const failed = /"Sync failed" ipFamily="IPv4" retryingTime="5s"/;

let place: NodeNamespace;
let proxy: KubeProxy;

beforeAll(async () => {
  await createObjects(connection, {
    items: [
      nodeObject(node, '192.168.95.1'),
      ...serviceObjects('db', '10.95.0.1'),
      ...serviceObjects('other', '10.95.0.2'),
      ...serviceObjects('led', '10.95.2.1', { externalIPs: ['10.95.0.1'] }),
      ...serviceObjects('empty', undefined, { externalIPs: ['10.95.0.2'] }),
      ...serviceObjects('headless', '10.95.2.3', { externalIPs: ['10.95.0.3'], clusterIP: 'None' }),
    ],
  });
});
afterEach(async () => {
  await proxy?.stop();
  await place?.destroy();
});

// So that no other kube-proxy has rules for them.
afterAll(() => connection.succeed(['delete', 'services,endpointslices', '--all', '-n', 'probe', '--timeout=60s']));

async function start(mode: 'iptables' | 'nftables' = 'iptables'): Promise<void> {
  place = await createNodeNamespace(connection.server, 'legacy');
  proxy = startKubeProxy({ connection, place, node, mode });
  await proxy.untilLine(synced, await proxy.untilLine(/Caches are synced" controller="service config"/, 0));
}

let changes = 0;

/** Puts another address behind a Service, and changes nothing else: kube-proxy writes once. */
async function changeService(service: string): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/probe/endpointslices/${service}-ipv4`;
  const body = { endpoints: [{ addresses: [`10.95.1.${++changes}`], conditions: { ready: true } }] };
  const answer = await connection.request('PATCH', path, { body });
  expect(answer).toMatchObject({ status: 200 });
}

test('chains deleted by iptables-legacy: a write fails, counts as complete all the same, and the next one succeeds', async () => {
  await start();
  for (const action of ['-F', '-X'])
    expect(await place.run('iptables', ['-t', 'nat', action])).toMatchObject({ code: 0 });
  const from = proxy.lines.length;
  await changeService('other');
  const failure = await proxy.untilLine(failed, from);
  expect(proxy.lines.slice(from, failure).join('\n')).toMatch(
    /"Failed to execute iptables-restore" err=<\n\texit status 2: iptables-restore v\S+ \(legacy\): Couldn't load target `KUBE-\S+':No such file or directory\n/,
  );
  await proxy.untilLine(synced, failure);
  const retry = await proxy.untilLine(/"Syncing iptables rules" ipFamily="IPv4" fullSync=true/, failure);
  const success = await proxy.untilLine(synced, retry);
  expect(proxy.lines.slice(failure + 1, success).some((line) => failed.test(line))).toBe(false);
});

test('another program holds the lock for longer than kube-proxy waits', async () => {
  await start();
  const letGo = await place.holdLock();
  const from = proxy.lines.length;
  await changeService('other');
  const failure = await proxy.untilLine(failed, from);
  expect(proxy.lines.slice(from, failure).join('\n')).toContain(
    'err=<\n\texit status 4: Can\'t lock /run/xtables.lock: Resource temporarily unavailable\n\tAnother app is currently holding the xtables lock. Stopped waiting after 5s.\n > ipFamily="IPv4"',
  );
  await letGo();
  const retry = await proxy.untilLine(/"Reloading service iptables data" ipFamily="IPv4"/, failure);
  const success = await proxy.untilLine(synced, retry);
  expect(proxy.lines.slice(retry, success).some((line) => failed.test(line))).toBe(false);
});

test('a table of nftables mode is deleted', async () => {
  await start('nftables');
  // Every start logs this when nothing is wrong.
  expect(proxy.lines.join('\n')).toMatch(
    /"Failed to list existing nftables objects" err=<\n\tfailed to run nft: Error: No such file or directory/,
  );
  expect((await place.run('nft', ['delete', 'table', 'ip', 'kube-proxy'])).code).toBe(0);
  const from = proxy.lines.length;
  await changeService('other');
  const failure = await proxy.untilLine(failed, from);
  expect(proxy.lines.slice(from, failure).join('\n')).toMatch(
    /"nftables sync failed" err=<\n\t\/dev\/stdin:\d+:\d+-\d+: Error: No such file or directory[^\n]*\n\t\S+ \S+ ip kube-proxy .*\n\t +\^+\n/,
  );
  const retry = await proxy.untilLine(/"Syncing nftables rules" ipFamily="IPv4" fullSync=true/, failure);
  await proxy.untilLine(synced, retry);
});

/** What the agent knows of Services that claim the address of another's Pod (src/count/pipeline/judging.ts). */
test.each([
  ['iptables', 'iptables-save', [], /-A KUBE-SERVICES -d IP\/32 .*--dport 5432 -j KUBE-EXT-/, /-d IP\/32 .* REJECT/],
  [
    'nftables',
    'nft',
    ['list', 'table', 'ip', 'kube-proxy'],
    /IP \. tcp \. 5432 : goto external-/,
    /IP \. tcp \. 5432 .*: goto reject-/,
  ],
] as const)(
  "%s mode: a Service that claims a Pod's address gets its packets, without endpoints they are rejected, and a headless one changes nothing",
  async (mode, command, args, redirected, rejected) => {
    await start(mode);
    const { stdout } = await place.run(command, args);
    const has = (pattern: RegExp, address: string): boolean =>
      new RegExp(pattern.source.replace('IP', address.replaceAll('.', '\\.'))).test(stdout);
    expect(has(redirected, '10.95.0.1')).toBe(true);
    expect(has(rejected, '10.95.0.2')).toBe(true);
    expect(stdout).not.toContain('10.95.0.3');
  },
);

/** A Service with the TCP port 5432, and the address behind it, if there is one. */
function serviceObjects(name: string, address: string | undefined, spec: object = {}): KubernetesObject[] {
  const ports = [{ port: 5432, protocol: 'TCP' }];
  return [
    { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'probe' }, spec: { ports, ...spec } },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { name: `${name}-ipv4`, namespace: 'probe', labels: { 'kubernetes.io/service-name': name } },
      endpoints: address === undefined ? [] : [{ addresses: [address], conditions: { ready: true } }],
      ports,
    },
  ];
}
