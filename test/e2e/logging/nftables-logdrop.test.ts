import { expect, test, vi } from 'vitest';
import { testLogdrop } from './logdrop.ts';
import { client, readPacket, server } from './scene.ts';

const ground = testLogdrop({
  script: 'nftables-logdrop.sh',
  own: 'mine',
  hook: 'forward',
  removed: { from: 'inet filter', what: '3 drop rules put back, 2 logging rules and 4 chains' },
  load: (node) => node.run('nft', ['-f', '-'], firewall),
  rules: async (node) =>
    (await node.run('nft', ['list', 'ruleset'])).replaceAll(/packets \d+ bytes \d+/g, 'packets N bytes N'),
  refused: [
    [['--table', 'ip calico', '--chain', 'filter-FORWARD'], "is another program's table"],
    [['--table', 'filter'], 'it needs a family'],
    [['--table', 'inet none', '--chain', 'forward'], 'there is no table inet none'],
    [['--chain', 'FORWARD'], 'use iptables-logdrop.sh'],
    [['--chain', 'knt_log'], 'is a chain of this script'],
    [['--chain', 'not-there'], 'has no chain not-there'],
    [['--limit', 'often', '--chain', 'mine'], 'syntax error'],
  ],
});

test('a comment that contains words of nft is kept', async () => {
  const { apply, rules, scene } = ground;
  await apply(['--chain', 'mine', '--prefix', scene.prefix]);
  expect(await rules()).toContain('jump knt_logdrop comment "with # handle 1 in it"');
});

test('after removal, rules still drop but no longer log', async () => {
  const { apply, log, scene } = ground;
  await apply(['--chain', 'mine', '--prefix', scene.prefix]);
  await apply(['--remove']);
  const countersBefore = await droppedUdp();
  await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 53, count: 3 });
  // The kernel may still process packets after they have been sent.
  await vi.waitFor(async () => expect(await droppedUdp()).toBe(countersBefore + 3), { timeout: 60_000 });
  expect(log.take(scene.prefix)).toEqual([]);
});

test('the output of --print can be included in a table of nftables.conf', async () => {
  const { apply, log, scene } = ground;
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
  const { apply, log, rules, scene } = ground;
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

async function droppedUdp(): Promise<number> {
  const chain = await ground.scene.node.run('nft', ['list', 'chain', 'inet', 'filter', 'mine']);
  return Number(/udp dport .*?counter packets (\d+) [^\n]* drop/s.exec(chain)?.[1]);
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
