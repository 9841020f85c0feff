import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openKernelLog, type KernelLog } from '../network/kernel-log.ts';
import { readShipped } from './node-shell.ts';
import { client, createScene, readPacket, type Scene, sendFlood, server, serverAddresses } from './scene.ts';

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
  await scene.node.run('nft', ['flush', 'ruleset']);
});

describe('UFW with ufw-after.rules', () => {
  beforeEach(async () => {
    const rules = await readShipped('ufw-after.rules');
    // Twice, as by `ufw reload`.
    for (const _ of [1, 2]) {
      await scene.node.run('iptables-nft-restore', [], ufw(rules, ''));
      await scene.node.run('ip6tables-nft-restore', [], ufw(rules, '6'));
    }
  });

  test.each([4, 6] as const)('IPv%i: each packet has one line and is dropped', async (family) => {
    await scene.network.send({ from: client, to: server, family, protocol: 'tcp', port: 443, count: 3 });
    const lines = await log.untilTaken(ownLines('[UFW BLOCK] '), 3);
    expect(lines).toHaveLength(3);
    for (const line of lines)
      expect(readPacket(line)).toMatchObject({ verdict: 'dropped', enforcer: 'host-firewall', prefix: '[UFW BLOCK]' });
  });

  test('a flood logs no more lines than the limit', async () => {
    const from = scene.network.namespaceOf(client);
    const { lines, seconds } = await sendFlood(from, serverAddresses[4], log, ownLines('[UFW BLOCK] '));
    expect(lines.length).toBeLessThanOrEqual(10 + 2 * seconds + 1);
  });
});

function ownLines(prefix: string): string {
  return `${prefix}IN=${scene.network.deviceOf(client)} `;
}

/** The shipped rules within those of UFW 0.36, whose own LOG rule comes after them and prints the same prefix. */
function ufw(rules: string, six: '' | '6'): string {
  return `*filter
:FORWARD DROP [0:0]
:ufw${six}-after-forward - [0:0]
:ufw${six}-after-logging-forward - [0:0]
-A FORWARD -j ufw${six}-after-forward
-A FORWARD -j ufw${six}-after-logging-forward
-A ufw${six}-after-logging-forward -m limit --limit 3/min --limit-burst 10 -j LOG --log-prefix "[UFW BLOCK] "
${rules.replaceAll('-A ufw-', `-A ufw${six}-`)}COMMIT
`;
}
