import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject, type StoredEvent, sumOf } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { createNetwork, type Network } from './network.ts';

/** Real packets of each protocol in both address families, and the lines of a real kernel about them. */

const controlPlane = connect(inject('controlPlane'));
const namespace = 'kernel';
const node = 'node-kernel';
/** The number of packets of each flow. */
const count = 23;

// Each run uses other addresses, because an agent's first look reaches back ten minutes, to what an earlier run has
// sent.
const [run, row, first] = [randomInt(1, 250), randomInt(1, 256), randomInt(1, 250)];
const pod = (name: string, number: number) => ({
  namespace,
  name: `${name}-${run}`,
  addresses: [`10.${run}.${row}.${first + number}`, `fd00:${run}:${row}::${first + number}`],
});
const [web, probe, server, server6] = [pod('web', 0), pod('probe', 1), pod('server', 2), pod('server-6', 3)];
const pods = [web, probe, server, server6];

let rig: AgentRig;
let network: Network;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [nodeObject(node, '192.168.213.1'), ...pods.map((each) => podObject({ ...each, node }))],
  });
  network = await createNetwork({ backend: 'iptables-nft', pods });
  await network.refuse();
});
afterAll(async () => {
  await rig.killAll();
  await network?.destroy();
});

test('packets of TCP, UDP, ICMP and SCTP over IPv4 and IPv6 are each counted on both Pods', async () => {
  const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel' });
  await agent.untilReady();
  // At most three Events of a Pod are about one peer.
  const flows = ([4, 6] as const).flatMap((family) => {
    const to = family === 4 ? server : server6;
    return [
      { family, to, from: web, protocol: 'tcp', port: 8080, what: 'on port 8080/TCP' },
      { family, to, from: web, protocol: 'udp', port: 5353, what: 'on port 5353/UDP' },
      { family, to, from: probe, protocol: 'icmp', port: 0, what: family === 4 ? 'ICMP echo request' : 'ICMPv6 echo' },
      // The kernel prints no ports of SCTP.
      { family, to, from: probe, protocol: 'sctp', port: 3868, what: 'over SCTP' },
    ] as const;
  });
  for (const { from, to, ...sending } of flows)
    await network.send({ from: `${namespace}/${from.name}`, to: `${namespace}/${to.name}`, ...sending, count });

  const counted = (events: StoredEvent[]): object[] =>
    flows.map(({ family, from, to, what }) => {
      const address = family === 4 ? 0 : 1;
      return {
        what: `IPv${family} ${what}`,
        onReceiver: packets(events, to.name, `${from.name} (${from.addresses[address]})`, what),
        onSender: packets(events, from.name, `${to.name} (${to.addresses[address]})`, what),
      };
    });
  const expected = flows.map(({ family, what }) => ({
    what: `IPv${family} ${what}`,
    onReceiver: count,
    onSender: count,
  }));
  await expect.poll(async () => counted(await rig.events(namespace)), { timeout: 120_000 }).toEqual(expected);
});

/** Counts the packets on one Pod whose Events name the other end and `what`. */
function packets(events: readonly StoredEvent[], on: string, other: string, what: string): number {
  const about = events.filter(({ message }) => message.includes(` ${namespace}/${other}`) && message.includes(what));
  return sumOf(about, on);
}
