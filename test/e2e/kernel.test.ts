import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject, type StoredEvent, sumOf } from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { createNetwork, type Network } from './network/network.ts';
import type { Backend } from './network/rules.ts';

/** Real packets, a real kernel's lines, a real API server, and what a real kubectl shows of it. */

const controlPlane = connect(inject('controlPlane'));
let rig: AgentRig;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
});
afterEach(() => rig.killAll());

// Other addresses in each run: an agent's first look reaches back ten minutes, to what an earlier run has sent.
const run = randomInt(1, 100);
const row = randomInt(1, 256);
const first = randomInt(1, 255);

describe.each<[Backend, number]>([
  ['iptables-legacy', run],
  ['iptables-nft', 100 + run],
])('%s', (backend, net) => {
  const namespace = `kernel-${backend}`;
  const node = `node-${backend}`;
  const client = {
    namespace,
    name: `client-${run}`,
    addresses: [`10.${net}.${row}.${first}`, `fd00:${net}:${row}::${first}`],
  };
  const server = {
    namespace,
    name: `server-${run}`,
    addresses: [`10.${net}.${row}.${first + 1}`, `fd00:${net}:${row}::${first + 1}`],
  };
  const [from, to] = [`${namespace}/${client.name}`, `${namespace}/${server.name}`];
  let network: Network;
  let stateDir: string;

  beforeAll(async () => {
    stateDir = rig.newFolder();
    await createObjects(controlPlane, {
      items: [nodeObject(node, `192.168.${net}.1`), podObject({ ...client, node }), podObject({ ...server, node })],
    });
    network = await createNetwork({ backend, pods: [client, server] });
    await network.refuse();
  });
  afterAll(() => network.destroy());

  test('a dropped packet is an Event on both Pods', async () => {
    const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: stateDir });
    await agent.untilReady();
    await network.send({ from, to, family: 4, protocol: 'tcp', port: 5432, count: 1 });
    await rig.untilEvents(namespace, (events) => both(events, '5432/TCP'));

    const shown = await describePod(server.name);
    expect(shown).toMatch(
      new RegExp(
        `Warning +PacketDrop +\\S+ +kube-netfilter-tailer +Packet dropped when receiving traffic from ${from} \\(10\\.${net}\\.${row}\\.${first}\\) on port 5432/TCP`,
      ),
    );
    expect(await describePod(client.name)).toMatch(
      new RegExp(
        `PacketDrop .* Packet dropped when sending traffic to ${to} \\(10\\.${net}\\.${row}\\.${first + 1}\\) on port 5432/TCP`,
      ),
    );
  });

  test.each([
    [4, 'tcp', 8080, 'on port 8080/TCP'],
    [4, 'udp', 5353, 'on port 5353/UDP'],
    [4, 'icmp', 0, 'ICMP echo request'],
    [6, 'tcp', 9443, 'on port 9443/TCP'],
    [6, 'udp', 4789, 'on port 4789/UDP'],
    [6, 'icmp', 0, 'ICMPv6 echo request'],
  ] as const)(
    'IPv%i %s: every packet is counted, on both Pods',
    async (family, protocol, port, what) => {
      const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: stateDir });
      await agent.untilReady();
      await network.send({ from, to, family, protocol, port, count: 37 });
      const events = await rig.untilEvents(namespace, (all) => both(all, what, 37));
      const [address, peer] = [client, server].map(({ addresses }) => addresses[family === 4 ? 0 : 1]);
      const messages = about(events, what).map(({ message }) => message);
      expect(messages).toContainEqual(expect.stringContaining(`from ${from} (${address})`));
      expect(messages).toContainEqual(expect.stringContaining(`to ${to} (${peer})`));
      for (const { involvedObject, count } of about(events, what))
        expect(await describePod(involvedObject.name)).toMatch(new RegExp(`${times(count)}.*${what}`));
    },
    120_000,
  );

  test('kubectl events --for shows the same', async () => {
    const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: stateDir });
    await agent.untilReady();
    await network.send({ from, to, family: 4, protocol: 'udp', port: 514, count: 3 });
    const events = await rig.untilEvents(namespace, (all) => both(all, '514/UDP', 3));
    const { stdout } = await controlPlane.kubectl(['events', '-n', namespace, '--for', `pod/${server.name}`]);
    for (const { count } of about(events, '514/UDP'))
      expect(stdout).toMatch(
        new RegExp(`${times(count)} +Warning +PacketDrop +Pod/server-\\d+ +Packet dropped when receiving .*514/UDP`),
      );
    expect(stdout).not.toContain('Pod/client');
  });

  async function describePod(name: string): Promise<string> {
    const { code, stdout, stderr } = await controlPlane.kubectl(['describe', 'pod', name, '-n', namespace]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return stdout;
  }
});

function about(events: readonly StoredEvent[], what: string): StoredEvent[] {
  return events.filter(({ message }) => message.includes(what));
}

/** Whether both Pods have Events of that, with that count: at some minute of every hour a Pod's new packets get a new one. */
function both(events: readonly StoredEvent[], what: string, count = 1): boolean {
  return ['client', 'server'].every((name) => sumOf(about(events, what), `${name}-${run}`) === count);
}

/** As kubectl shows it. */
function times(count: number): string {
  return count === 1 ? '' : `\\(x${count} over \\S+\\) `;
}
