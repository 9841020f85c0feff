import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { parse } from '../../../src/read/parsing/formats.ts';
import { client, createScene, readPacket, type Scene, server } from './scene.ts';
import { readShipped } from './node-shell.ts';
import { startUlogd, type Ulogd } from './ulogd.ts';

// kube-router writes these rules: the first for each policy (k3s only), the second for each Pod, and then the REJECT.
const NFLOG = '-j NFLOG --nflog-group 100';
const rules = (withPolicies: boolean): string => `*filter
:POLICY - [0:0]
-A FORWARD -p tcp --dport 5432 -j POLICY
-A FORWARD -p tcp --dport 5432 -m mark ! --mark 0x10000/0x10000 -m limit --limit 10/minute --limit-burst 10 ${NFLOG}
-A FORWARD -p tcp --dport 5432 -m mark ! --mark 0x10000/0x10000 -j REJECT
${
  withPolicies
    ? `-A POLICY -m limit --limit 10/minute --limit-burst 10 -m mark ! --mark 0x10000/0x10000 ${NFLOG} --nflog-prefix "DROP by policy shop/postgres-only"`
    : ''
}
COMMIT
`;

let scene: Scene;
let ulogd: Ulogd;

beforeAll(async () => {
  scene = await createScene();
});
afterAll(() => scene.network.destroy());

describe.each([4, 6] as const)('IPv%i', (family) => {
  const command = family === 4 ? 'iptables-nft' : 'ip6tables-nft';

  describe('k3s: ulogd-k3s.conf', () => {
    beforeEach(() => start('ulogd-k3s.conf', true));
    afterEach(() => ulogd.stop());

    test('the Event names the policy, and the packet counts once', async () => {
      await send();
      const packets = (await ulogd.untilLines(2)).map(readPacket);
      expect(packets.map(({ verdict }) => verdict)).toEqual(['dropped', 'logged']);
      expect(packets[0]).toMatchObject({
        policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'postgres-only' },
        packet: { protocol: 'TCP', destinationPort: 5432 },
        inInterface: scene.network.deviceOf(client),
        outInterface: scene.network.deviceOf(server),
      });
    });
  });

  describe('kube-router: ulogd-kube-router.conf', () => {
    afterEach(() => ulogd.stop());

    test('a line without a prefix counts as a drop', async () => {
      await start('ulogd-kube-router.conf', false);
      await send();
      const [line = ''] = await ulogd.untilLines(1);
      expect(readPacket(line)).toMatchObject({ verdict: 'dropped', policy: undefined });
    });

    test('with PREFIXES, a packet of k3s counts once, by the Pod and not by the policy', async () => {
      await start('ulogd-kube-router.conf', true);
      await send();
      const table = createPrefixTable([{ prefix: 'DROP by policy', verdict: 'accepted' }]);
      const verdicts = (await ulogd.untilLines(2)).map((line) => {
        const observation = parse(line, table);
        return observation?.kind === 'packet' ? observation.verdict : observation;
      });
      expect(verdicts).toEqual(['accepted', 'dropped']);
    });
  });

  async function start(configuration: string, withPolicies: boolean): Promise<void> {
    await scene.node.run(`${command}-restore`, [], rules(withPolicies));
    ulogd = await startUlogd(scene.node.namespace, await readShipped(configuration));
  }

  async function send(): Promise<void> {
    await scene.network.send({ from: client, to: server, family, protocol: 'tcp', port: 5432, count: 1 });
  }
});
