import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openKernelLog, type KernelLog } from '../network/kernel-log.ts';
import { openConnection } from './connection.ts';
import { sendFlood } from './flooding.ts';
import { readPacket } from './reading.ts';
import { client, createScene, type Scene, server, serverAddresses } from './scene.ts';

const name = 'nftables-logdrop.sh';

let log: KernelLog;
let scene: Scene;
let rulesBefore: string;

beforeAll(async () => {
  scene = await createScene();
  await scene.node.run('nft', ['-f', '-'], firewall);
  rulesBefore = await rules();
});
afterAll(() => scene.network.destroy());
beforeEach(() => {
  log = openKernelLog();
});
afterEach(async () => {
  log.close();
  await apply(['--remove']);
});

test.each([
  [4, 'a drop rule', 5432],
  [4, 'the policy of the chain', 8080],
  [6, 'a drop rule', 5432],
  [6, 'the policy of the chain', 8080],
] as const)('IPv%i: what %s drops is logged', async (family, _, port) => {
  await apply(['--chain', 'mine', '--chain', 'forward', '--prefix', scene.prefix]);
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
  const args = ['--chain', 'mine', '--chain', 'forward', '--invalid', 'forward', '--prefix', scene.prefix];
  await apply(args);
  const once = await rules();
  expect(once).toContain('jump knt_logdrop comment "with # handle 1 in it"');
  await apply(args);
  expect(await rules()).toBe(once);
  await apply(['--remove']);
  await apply(['--remove']);
  expect(await rules()).toBe(rulesBefore);
});

test('what is removed logs no more, and drops still', async () => {
  await apply(['--chain', 'mine', '--prefix', scene.prefix]);
  await apply(['--remove']);
  await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 53, count: 3 });
  expect(await scene.node.run('nft', ['list', 'chain', 'inet', 'filter', 'mine'])).toMatch(/counter packets 3 .* drop/);
  expect(log.take(scene.prefix)).toEqual([]);
  await scene.node.run('nft', ['reset', 'counters']);
});

test('a flood from one source prints its share', async () => {
  await apply(['--chain', 'mine', '--prefix', scene.prefix]);
  const { lines, seconds } = await flood();
  expect(lines.length).toBeLessThanOrEqual(10 + 2 * seconds + 1);
});

test('a flood prints no more than the limit of the node', async () => {
  const generous = ['--source-limit', '100000/second', '--source-burst', '10000'];
  await apply(['--chain', 'mine', '--prefix', scene.prefix, ...generous]);
  const { lines, seconds } = await flood();
  expect(lines.length).toBeGreaterThanOrEqual(50);
  expect(lines.length).toBeLessThanOrEqual(50 + 10 * seconds + 1);
});

test('INVALID is logged and dropped', async () => {
  const connection = await openConnection(scene.network, client, server, serverAddresses[6]);
  try {
    // From the first rule with conntrack on, connections that are older are picked up, if that is not forbidden.
    await apply(['--invalid', 'forward', '--prefix', scene.prefix]);
    await scene.node.set('netfilter/nf_conntrack_tcp_loose', 0);
    connection.write();
    const [line = ''] = await log.untilTaken(scene.prefix, 1);
    expect(readPacket(line)).toMatchObject({ verdict: 'dropped', prefix: `${scene.prefix}-invalid:` });
  } finally {
    await connection.close();
  }
});

test('what --print prints can be included in a table of nftables.conf', async () => {
  const chains = await apply(['--print', '--prefix', scene.prefix]);
  const table = `table inet by-hand {\n${chains}
    chain forward { type filter hook forward priority filter - 5; udp dport 514 jump knt_logdrop; }
  }\n`;
  await scene.node.run('nft', ['-f', '-'], table);
  await scene.network.send({ from: client, to: server, family: 6, protocol: 'udp', port: 514, count: 1 });
  const [line = ''] = await log.untilTaken(scene.prefix, 1);
  expect(readPacket(line).verdict).toBe('dropped');
  await scene.node.run('nft', ['delete', 'table', 'inet', 'by-hand']);
});

test.each(['ip', 'ip6'])('a table of the family %s', async (family) => {
  const table = `${family} own`;
  const made = `table ${table} { chain forward { type filter hook forward priority filter - 5; udp dport 515 drop; }; }`;
  await scene.node.run('nft', ['-f', '-'], made);
  const before = await rules();
  await apply(['--table', table, '--chain', 'forward', '--prefix', scene.prefix]);
  const version = family === 'ip' ? 4 : 6;
  await scene.network.send({ from: client, to: server, family: version, protocol: 'udp', port: 515, count: 1 });
  const [line = ''] = await log.untilTaken(scene.prefix, 1);
  expect(readPacket(line).verdict).toBe('dropped');
  await apply(['--table', table, '--remove']);
  expect(await rules()).toBe(before);
  await scene.node.run('nft', ['delete', 'table', family, 'own']);
});

test.each([
  [['--table', 'ip calico', '--chain', 'filter-FORWARD'], "is another program's table"],
  [['--table', 'filter'], 'it needs a family'],
  [['--table', 'inet none', '--chain', 'forward'], 'there is no table inet none'],
  [['--chain', 'FORWARD'], 'use iptables-logdrop.sh'],
  [['--chain', 'not-there'], 'has no chain not-there'],
  [['--prefix', 'mine'], 'it needs drop, deny, denied or block in it'],
  [['--limit', 'often', '--chain', 'mine'], 'syntax error'],
  [['--burst'], 'needs a value'],
  [['--nonsense'], 'is not an option'],
])('%j is refused, and nothing is changed', async (args, message) => {
  await expect(apply(args)).rejects.toThrow(message);
  expect(await rules()).toBe(rulesBefore);
});

async function apply(args: readonly string[]): Promise<string> {
  return scene.node.script(name, args);
}

async function flood(): ReturnType<typeof sendFlood> {
  return sendFlood(scene.network.namespaceOf(client), serverAddresses[4], log, scene.prefix);
}

async function rules(): Promise<string> {
  const all = await scene.node.run('nft', ['list', 'ruleset']);
  return all.replaceAll(/packets \d+ bytes \d+/g, 'packets N bytes N');
}

const firewall = `table inet filter {
  set unwanted { type ipv4_addr; elements = { 192.0.2.1 }; }
  chain forward {
    type filter hook forward priority filter; policy drop;
    ip saddr @unwanted drop
    jump mine
    tcp dport != 8080 accept
  }
  chain mine {
    tcp dport 9000 accept
    tcp dport 5432 counter drop comment "with # handle 1 in it"
    udp dport { 9, 53, 123, 161, 514, 1194, 1812, 1813, 3478, 4500, 4789, 5060, 5349, 5353, 6081, 8472, 11211, 27015, 33434, 51820 } counter drop
  }
}
`;
