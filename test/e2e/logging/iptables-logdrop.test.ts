import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openKernelLog, type KernelLog } from '../network/kernel-log.ts';
import type { Backend } from '../network/rules.ts';
import { openConnection } from './connection.ts';
import { sendFlood } from './flooding.ts';
import { readPacket } from './reading.ts';
import { client, createScene, type Scene, server, serverAddresses } from './scene.ts';

const name = 'iptables-logdrop.sh';

let log: KernelLog;
beforeEach(() => {
  log = openKernelLog();
});
afterEach(() => log.close());

describe.each<Backend>(['iptables-legacy', 'iptables-nft'])('%s', (backend) => {
  const commands = [backend, backend.replace('ip', 'ip6')];
  let scene: Scene;
  let rulesBefore: string;

  beforeAll(async () => {
    scene = await createScene(backend);
    for (const command of commands) await scene.node.run(`${command}-restore`, [], firewall);
    rulesBefore = await savedRules();
  });
  afterEach(() => apply(['--remove']));
  afterAll(() => scene.network.destroy());

  test.each([
    [4, 'a DROP rule', 5432],
    [4, 'the policy of FORWARD', 8080],
    [6, 'a DROP rule', 5432],
    [6, 'the policy of FORWARD', 8080],
  ] as const)('IPv%i: what %s drops is logged', async (family, _, port) => {
    await apply(['--chain', 'MINE', '--chain', 'FORWARD', '--prefix', scene.prefix]);
    await scene.network.send({ from: client, to: server, family, protocol: 'tcp', port, count: 3 });
    const lines = await log.untilTaken(scene.prefix, 3);
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const { verdict, prefix, packet } = readPacket(line);
      expect({ verdict, prefix, port: packet.destinationPort }).toEqual({
        verdict: 'dropped',
        prefix: `${scene.prefix}:`,
        port,
      });
    }
  });

  test('applied twice is applied once, and removed twice leaves nothing', async () => {
    const args = ['--chain', 'MINE', '--chain', 'FORWARD', '--invalid', 'FORWARD', '--prefix', scene.prefix];
    await apply(args);
    const once = await savedRules();
    expect(once).toContain('KNT-LOGDROP');
    await apply(args);
    expect(await savedRules()).toBe(once);
    await apply(['--remove']);
    await apply(['--remove']);
    expect(await savedRules()).toBe(rulesBefore);
  });

  test('what is removed logs no more, and drops still', async () => {
    await apply(['--chain', 'MINE', '--prefix', scene.prefix]);
    await apply(['--remove']);
    await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 5432, count: 3 });
    const dropped = await scene.node.run(backend, ['-L', 'MINE', '-v', '-n', '-x']);
    expect(dropped).toMatch(/\n +3 +\d+ DROP +/);
    expect(log.take(scene.prefix)).toEqual([]);
  });

  test('chains that are not named any more are put back', async () => {
    await apply(['--chain', 'MINE', '--prefix', scene.prefix]);
    await apply(['--chain', 'FORWARD', '--prefix', scene.prefix]);
    expect(await savedRules()).not.toMatch(/-A MINE .*KNT/);
    await apply(['--remove']);
    expect(await savedRules()).toBe(rulesBefore);
  });

  test('a flood from one source prints its share', async () => {
    await apply(['--chain', 'MINE', '--prefix', scene.prefix]);
    const { lines, seconds } = await flood();
    expect(lines.length).toBeLessThanOrEqual(10 + 2 * seconds + 1);
  });

  test('a flood prints no more than the limit of the node', async () => {
    const generous = ['--source-limit', '10000/second', '--source-burst', '10000'];
    await apply(['--chain', 'MINE', '--prefix', scene.prefix, ...generous]);
    const { lines, seconds } = await flood();
    expect(lines.length).toBeGreaterThanOrEqual(50);
    expect(lines.length).toBeLessThanOrEqual(50 + 10 * seconds + 1);
  });

  test('INVALID is logged and dropped', async () => {
    const connection = await openConnection(scene.network, client, server, serverAddresses[4]);
    try {
      // From the first rule with conntrack on, connections that are older are picked up, if that is not forbidden.
      await apply(['--invalid', 'FORWARD', '--prefix', scene.prefix]);
      await scene.node.set('netfilter/nf_conntrack_tcp_loose', 0);
      connection.write();
      const [line = ''] = await log.untilTaken(scene.prefix, 1);
      expect(readPacket(line)).toMatchObject({ verdict: 'dropped', prefix: `${scene.prefix}-invalid:` });
    } finally {
      await connection.close();
    }
  });

  test.each([
    [['--chain', 'cali-FORWARD'], "is another program's chain"],
    [['--chain', 'NOT-THERE'], 'has no chain NOT-THERE'],
    [['--prefix', 'mine'], 'it needs drop, deny, denied or block in it'],
    [['--prefix', 'drop-with-a-very-long-name'], '19 is the most'],
    [['--prefix', 'my drop'], 'use letters, digits'],
    [['--burst'], 'needs a value'],
    [['--nonsense'], 'is not an option'],
  ])('%j is refused, and nothing is changed', async (args, message) => {
    await expect(apply(args)).rejects.toThrow(message);
    expect(await savedRules()).toBe(rulesBefore);
  });

  async function apply(args: readonly string[]): Promise<unknown> {
    return scene.node.script(name, args, backend);
  }

  async function flood(): ReturnType<typeof sendFlood> {
    return sendFlood(scene.network.namespaceOf(client), serverAddresses[4], log, scene.prefix);
  }

  async function savedRules(): Promise<string> {
    const saved = await Promise.all(commands.map((command) => scene.node.run(`${command}-save`, ['-t', 'filter'])));
    return saved.join('').replaceAll(/^#.*\n|\[\d+:\d+\]/gm, '');
  }
});

const firewall = `*filter
:FORWARD DROP [0:0]
:MINE - [0:0]
-A FORWARD -j MINE
-A FORWARD -p tcp -m tcp ! --dport 8080 -j ACCEPT
-A MINE -p tcp -m comment --comment "a \\"quoted\\" -j DROP" -m tcp --dport 9000 -j ACCEPT
-A MINE -p tcp -m tcp --dport 5432 -j DROP
-A MINE -p udp -m multiport --dports 9,5432 -j DROP
COMMIT
`;
