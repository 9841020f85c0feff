import { describe, expect, test, vi } from 'vitest';
import type { Backend } from '../network/rules.ts';
import { openConnection } from './connection.ts';
import { testLogdrop } from './logdrop.ts';
import type { NodeShell } from './node-shell.ts';
import { client, readPacket, server, serverAddresses } from './scene.ts';

describe.each<Backend>(['iptables-legacy', 'iptables-nft'])('%s', (backend) => {
  const commands = [backend, backend.replace('ip', 'ip6')];
  const ground = testLogdrop({
    script: 'iptables-logdrop.sh',
    backend,
    own: 'MINE',
    hook: 'FORWARD',
    removed: { from: commands.join(' and '), what: '4 DROP rules put back, 4 logging rules and 6 chains' },
    load: (node) => Promise.all(commands.map((command) => node.run(`${command}-restore`, [], firewall))),
    rules: savedRules,
    refused: [
      [['--chain', 'cali-FORWARD'], "is another program's chain"],
      [['--chain', 'ANTREA-FORWARD'], "is another program's chain"],
      [['--chain', 'NOT-THERE'], 'has no chain NOT-THERE'],
      [['--prefix', 'drop-with-a-very-long-name', '--chain', 'MINE'], '19 is the most'],
    ],
  });

  test('after removal, rules still drop but no longer log', async () => {
    const { apply, log, scene } = ground;
    await apply(['--chain', 'MINE', '--prefix', scene.prefix]);
    await apply(['--remove']);
    await scene.network.send({ from: client, to: server, family: 4, protocol: 'udp', port: 5432, count: 3 });
    // The kernel may still process packets after they have been sent.
    const dropped = (): Promise<string> => scene.node.run(backend, ['-L', 'MINE', '-v', '-n', '-x']);
    await vi.waitFor(async () => expect(await dropped()).toMatch(/\n +3 +\d+ DROP +/), { timeout: 60_000 });
    expect(log.take(scene.prefix)).toEqual([]);
  });

  test('a chain that only one family has is changed there', async () => {
    const { apply, before, rules, scene } = ground;
    await scene.node.run(backend, ['-N', 'ONLY4']);
    await scene.node.run(backend, ['-A', 'ONLY4', '-p', 'tcp', '-j', 'DROP']);
    const prefixed = ['--chain', 'ONLY4', '--invalid', 'ONLY4', '--prefix', scene.prefix];
    await apply(prefixed);
    expect((await rules()).match(/^-A ONLY4 .*KNT-(?:LOGDROP|INVALID)$/gm)).toHaveLength(2);
    await apply(['--remove']);
    await scene.node.run(backend, ['-F', 'ONLY4']);
    await scene.node.run(backend, ['-X', 'ONLY4']);
    expect(await rules()).toBe(before);
  });

  test('packets that Calico has accepted are not logged, wherever felix appends its rules', async () => {
    const { apply, log, scene } = ground;
    const mark = ['-m', 'mark', '--mark', '0x10000/0x10000'];
    const appended = [
      ['-m', 'comment', '--comment', 'cali:S93hcgKJrXEqnTfs', ...mark, '-j', 'ACCEPT'],
      ['-m', 'comment', '--comment', 'cali:mp77cMpurHhyjLrM', '-j', 'MARK', '--set-xmark', '0x10000/0x10000'],
    ];
    const felix = (action: string) => async (rule: readonly string[]) =>
      scene.node.run(backend, [action, 'FORWARD', ...rule]);
    // A policy of Calico accepts port 8081 in this way.
    const policy = ['-p', 'tcp', '--dport', '8081', '-j', 'MARK', '--set-xmark', '0x10000/0x10000'];
    await scene.node.run(backend, ['-I', 'FORWARD', ...policy]);
    for (const rule of appended) await felix('-A')(rule);

    await apply(['--chain', 'FORWARD', '--prefix', scene.prefix]);
    // Felix's own rules have to be the last: it notices any rule after them and writes them again.
    for (const rule of appended) await felix('-D')(rule);
    for (const rule of appended) await felix('-A')(rule);
    const send = { from: client, to: server, family: 4, protocol: 'tcp', count: 1 } as const;
    await scene.network.send({ ...send, port: 8081 });
    await scene.network.send({ ...send, port: 8080 });
    const lines = await log.untilTaken(scene.prefix, 1);
    expect(lines.map((line) => readPacket(line).packet.destinationPort)).toEqual([8080]);

    await apply(['--remove']);
    for (const rule of appended) await felix('-D')(rule);
    await felix('-D')(policy);
    expect(await ground.rules()).toBe(ground.before);
  });

  test('rules that felix puts before all others do not hide INVALID packets', async () => {
    const { apply, log, scene } = ground;
    const connection = await openConnection(scene.network, client, server, serverAddresses[4]);
    const drop = ['FORWARD', '-m', 'conntrack', '--ctstate', 'INVALID', '-j', 'DROP'];
    try {
      await apply(['--invalid', 'FORWARD', '--prefix', scene.prefix]);
      // Felix does this within three minutes if its own rules are not the first. It drops INVALID packets without
      // logging a line.
      await scene.node.run(backend, ['-I', ...drop]);
      await scene.node.set('netfilter/nf_conntrack_tcp_loose', 0);
      connection.write();
      const [line = ''] = await log.untilTaken(scene.prefix, 1);
      expect(readPacket(line).prefix).toBe(`${scene.prefix}-invalid:`);
    } finally {
      await connection.close();
      await scene.node.run(backend, ['-D', ...drop]);
    }
  });

  async function savedRules(node: NodeShell): Promise<string> {
    const save = async (table: string) =>
      (await Promise.all(commands.map((command) => node.run(`${command}-save`, ['-t', table])))).join('');
    // The nft backend makes the chains of a table when they are first used.
    const mangle = (await save('mangle')).match(/^(?:-A|:KNT).*\n/gm) ?? [];
    return [await save('filter'), ...mangle].join('').replaceAll(/^#.*\n|\[\d+:\d+\]/gm, '');
  }
});

const firewall = `*filter
:FORWARD DROP [0:0]
:MINE - [0:0]
-A FORWARD -j MINE
-A FORWARD -p tcp -m tcp ! --dport 8080 -m mark --mark 0x0/0x10000 -j ACCEPT
-A MINE -p tcp -m comment --comment "a \\"quoted\\" -j DROP" -m tcp --dport 9000 -j ACCEPT
-A MINE -p tcp -m tcp --dport 5432 -j DROP
-A MINE -p udp -m comment --comment "C:\\\\new\\\\c" -m multiport --dports 9,5432 -j DROP
COMMIT
`;
