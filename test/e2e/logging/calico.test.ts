import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openKernelLog, type KernelLog } from '../network/kernel-log.ts';
import type { Backend } from '../network/rules.ts';
import { type LoggedPolicy, readFelixSettings } from './felix-rendering.ts';
import { client, createScene, readPacket, type Scene, sendFlood, server, serverAddresses } from './scene.ts';

type Dataplane = Backend | 'nftables';

// Names of this run alone, as long as those that are shipped: others print to the same log.
const id = randomBytes(3).toString('hex');
const networkPolicy = { kind: 'np', namespace: 'shop', name: `pg${id}` };
const globalPolicy = { kind: 'gnp', name: `d${id}` };
const longName = { kind: 'np', namespace: 'shop', name: `p${id}-only-from-the-workers` };

let log: KernelLog;
let scene: Scene;
beforeAll(async () => {
  scene = await createScene();
});
afterAll(() => scene.network.destroy());
beforeEach(() => {
  log = openKernelLog();
});
afterEach(async () => {
  log.close();
  for (const command of ['iptables-legacy', 'iptables-nft']) await scene.node.run(command, ['-F', 'FORWARD']);
  await scene.node.run('nft', ['-f', '-'], 'add table ip calico\ndelete table ip calico');
});

describe.each<Dataplane>(['iptables-legacy', 'iptables-nft', 'nftables'])('Felix on %s', (dataplane) => {
  test.each<[string, LoggedPolicy, object]>([
    [
      'a NetworkPolicy',
      networkPolicy,
      { kind: 'NetworkPolicy.projectcalico.org', namespace: 'shop', name: networkPolicy.name },
    ],
    ['a GlobalNetworkPolicy', globalPolicy, { kind: 'GlobalNetworkPolicy', name: globalPolicy.name }],
  ])('%s is named by what it drops', async (_, policy, expected) => {
    await program('felix-configuration.patch.yaml', dataplane, policy);
    await send(2);
    const lines = await log.untilTaken(policy.name, 2);
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(readPacket(line)).toMatchObject({ verdict: 'dropped', enforcer: 'network-policy', policy: expected });
  });

  test('the older patch: dropped, without a name', async () => {
    await program('felix-configuration-old.patch.yaml', dataplane, networkPolicy);
    await send(1);
    const [line = ''] = await log.untilTaken(`calico-drop: IN=${scene.network.deviceOf(client)} `, 1);
    expect(readPacket(line)).toMatchObject({ verdict: 'dropped', enforcer: 'network-policy', policy: undefined });
  });

  test('a long name', async () => {
    await program('felix-configuration.patch.yaml', dataplane, longName);
    await send(1);
    const [line = ''] = await log.untilTaken(`p${id}`, 1);
    const { policy } = readPacket(line);
    expect(policy?.name).toBe(dataplane === 'nftables' ? longName.name : `p${id}-o…`);
  });

  test('a flood prints no more than the limit', async () => {
    await program('felix-configuration.patch.yaml', dataplane, networkPolicy);
    const from = scene.network.namespaceOf(client);
    const { lines, seconds } = await sendFlood(from, serverAddresses[4], log, networkPolicy.name);
    expect(lines.length).toBeGreaterThanOrEqual(50);
    expect(lines.length).toBeLessThanOrEqual(50 + 10 * seconds + 1);
  });

  test('the limit is spent on packets that the rule does not match', async () => {
    // Too slow for the burst to come back while this test runs.
    await program('felix-configuration.patch.yaml', dataplane, networkPolicy, { port: 53, per: 'minute' });
    // More than the burst, and none of them is logged.
    await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 54, count: 70 });
    await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 53, count: 50 });
    await vi.waitFor(async () => expect(await dropped(dataplane)).toBe(120), { timeout: 60_000 });
    expect(log.take(networkPolicy.name).length).toBeLessThan(50);
  });
});

async function send(count: number): Promise<void> {
  await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 53, count });
}

/** Packets that the second rule has dropped. */
async function dropped(dataplane: Dataplane): Promise<number> {
  const [command, args, pattern] =
    dataplane === 'nftables'
      ? ['nft', ['list', 'table', 'ip', 'calico'], /counter packets (\d+)/]
      : [dataplane, ['-L', 'FORWARD', '-v', '-n', '-x'], /\n +(\d+) +\d+ DROP /];
  return Number(pattern.exec(await scene.node.run(command, args))?.[1]);
}

/**
 * The two rules that Felix writes for `action: Log` and `action: Deny`; `port` is one that the first is confined to, `per` what its rate
 * is of instead of a second.
 */
async function program(
  patch: string,
  dataplane: Dataplane,
  policy: LoggedPolicy,
  { port, per = 'second' }: { port?: number; per?: 'second' | 'minute' } = {},
): Promise<void> {
  const settings = await readFelixSettings(patch);
  const { prefix } = settings;
  const [iptablesLimit, nftablesLimit] = [settings.iptablesLimit, settings.nftablesLimit].map((limit) =>
    limit.replace('/second', `/${per}`),
  );
  if (dataplane === 'nftables') {
    const match = port === undefined ? '' : `udp dport ${port}`;
    await scene.node.run(
      'nft',
      ['-f', '-'],
      `table ip calico { chain filter-FORWARD { type filter hook forward priority filter;
        ${nftablesLimit} ${match} log prefix "${prefix(policy)}: " level info
        counter drop
      }; }`,
    );
    return;
  }
  const match = port === undefined ? '' : `-p udp -m multiport --destination-ports ${port}`;
  await scene.node.run(
    `${dataplane}-restore`,
    ['--noflush'],
    `*filter
-A FORWARD ${iptablesLimit} ${match} --jump LOG --log-prefix "${prefix(policy)}: " --log-level 5
-A FORWARD --jump DROP
COMMIT
`,
  );
}
