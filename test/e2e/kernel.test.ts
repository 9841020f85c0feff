import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject, type StoredEvent } from './agent-rig.ts';
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
const first = randomInt(1, 250);

describe.each<[Backend, number]>([
  ['iptables-legacy', run],
  ['iptables-nft', 100 + run],
])('%s', (backend, net) => {
  const namespace = `kernel-${backend}`;
  const node = `node-${backend}`;
  const pod = (name: string, last: number) => ({
    namespace,
    name: `${name}-${run}`,
    addresses: [`10.${net}.${row}.${last}`, `fd00:${net}:${row}::${last}`],
  });
  type Machine = ReturnType<typeof pod>;
  // At most eight Events are of one Pod, and three of them about one peer.
  const servers = ['server', 'server-6'].map((name, each) => pod(name, first + each)) as [Machine, Machine];
  const clients = ['a', 'b', 'c'].map((name, each) => pod(`client-${name}`, first + 2 + each));
  const [server] = servers;
  const [web, resolver, probe] = clients as [Machine, Machine, Machine];
  let network: Network;
  let stateDir: string;

  beforeAll(async () => {
    stateDir = rig.newFolder();
    await createObjects(controlPlane, {
      items: [
        nodeObject(node, `192.168.${net}.1`),
        ...[...clients, ...servers].map((each) => podObject({ ...each, node })),
      ],
    });
    network = await createNetwork({ backend, pods: [...clients, ...servers] });
    await network.refuse();
  });
  afterAll(() => network.destroy());

  test('a dropped packet is an Event on both Pods', async () => {
    const to = `${namespace}/${server.name}`;
    const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: stateDir });
    await agent.untilReady();
    const from = `${namespace}/${web.name}`;
    await network.send({ from, to, family: 4, protocol: 'tcp', port: 5432, count: 1 });
    await rig.untilEvents(namespace, (events) => both(events, '5432/TCP'));

    const shown = await describePod(server.name);
    expect(shown).toMatch(
      new RegExp(
        `Warning +PacketDrop +\\S+ +kube-netfilter-tailer +.* ${from} \\(10\\.${net}\\.${row}\\.${first + 2}\\) on port 5432/TCP`,
      ),
    );
    expect(await describePod(web.name)).toMatch(
      new RegExp(`PacketDrop .* ${to} \\(10\\.${net}\\.${row}\\.${first}\\) on port 5432/TCP`),
    );
  });

  test.each([
    [4, 'tcp', 8080, 'on port 8080/TCP', web],
    [4, 'udp', 5353, 'on port 5353/UDP', web],
    [4, 'icmp', 0, 'ICMP echo request', resolver],
    [6, 'tcp', 9443, 'on port 9443/TCP', resolver],
    [6, 'udp', 4789, 'on port 4789/UDP', resolver],
    [6, 'icmp', 0, 'ICMPv6 echo request', probe],
    // The kernel prints neither the name nor the ports of SCTP.
    [4, 'sctp', 3868, String.raw`\(10\.\S+\) over SCTP`, probe],
    [6, 'sctp', 3868, String.raw`\(fd00:\S+\) over SCTP`, probe],
  ] as const)(
    'IPv%i %s: every packet is counted, on both Pods',
    async (family, protocol, port, what, client) => {
      const other = servers[family === 4 ? 0 : 1];
      const [from, to] = [client, other].map(({ name }) => `${namespace}/${name}`) as [string, string];
      const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: stateDir });
      await agent.untilReady();
      await network.send({ from, to, family, protocol, port, count: 37 });
      const events = await rig.untilEvents(namespace, (all) => both(all, what, 37));
      const [address, peer] = [client, other].map(({ addresses }) => addresses[family === 4 ? 0 : 1]);
      const messages = about(events, what).map(({ message }) => message);
      expect(messages).toContainEqual(expect.stringContaining(`from ${from} (${address})`));
      expect(messages).toContainEqual(expect.stringContaining(`to ${to} (${peer})`));
      for (const { involvedObject, count } of about(events, what))
        expect(await describePod(involvedObject.name)).toMatch(new RegExp(`${times(count)}.*${what}`));
    },
    120_000,
  );

  async function describePod(name: string): Promise<string> {
    const { code, stdout, stderr } = await controlPlane.kubectl(['describe', 'pod', name, '-n', namespace]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return stdout;
  }
});

/** `what`: a regular expression. */
function about(events: readonly StoredEvent[], what: string): StoredEvent[] {
  return events.filter(({ message }) => new RegExp(what).test(message));
}

/** Whether server and client have Events of that, with that count: at some minute of every hour a Pod's new packets get a new one. */
function both(events: readonly StoredEvent[], what: string, count = 1): boolean {
  const ofThat = about(events, what);
  return ['client', 'server'].every((name) => {
    const own = ofThat.filter(({ involvedObject }) => involvedObject.name.startsWith(name));
    return own.reduce((sum, event) => sum + event.count, 0) === count;
  });
}

/** Returns the count as kubectl shows it. */
function times(count: number): string {
  return count === 1 ? '' : `\\(x${count} over \\S+\\) `;
}
