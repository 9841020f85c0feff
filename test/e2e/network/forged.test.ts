import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { type AgentRig, createAgentRig, nodeObject, podObject } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createObjects } from '../control-plane/objects.ts';
import { run } from './command.ts';
import { createNetwork, type Network } from './network.ts';

/** Tests what a Pod can make a real kernel log about another Pod, and what is reported of it. */

const controlPlane = connect(inject('controlPlane'));
const namespace = 'forged';
const node = 'node-forged';

// Each run uses other addresses, because an agent's first look reaches back ten minutes, to what an earlier run has
// sent.
const number = randomInt(1, 250);
const row = `10.211.${randomInt(1, 256)}`;
const pod = (name: string, last: number) => ({
  namespace,
  name: `${name}-${number}`,
  addresses: [`${row}.${number + last}`],
});
const [victim, attacker, other] = [pod('victim', 0), pod('attacker', 1), pod('other', 2)];
const keys = [victim, attacker, other].map(({ name }) => `${namespace}/${name}`) as [string, string, string];

let rig: AgentRig;
let network: Network;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [
      nodeObject(node, '192.168.211.1'),
      ...[victim, attacker, other].map((each) => podObject({ ...each, node })),
    ],
  });
  network = await createNetwork({ backend: 'iptables-nft', pods: [victim, attacker, other] });
});
afterEach(() => rig.killAll());
afterAll(() => network.destroy());

test("an ICMP error about another sender's packet is reported for its own ends, not for the Pod that it names", async () => {
  const [from, to] = keys;
  await network.refuse(to);
  // The attacker's kernel answers the victim that no process listens. On its way out, the answer is redirected to
  // another Pod.
  const forge = `add table ip forge
add chain ip forge output { type filter hook output priority 0; }
add rule ip forge output icmp type destination-unreachable ip daddr set ${other.addresses[0]}
`;
  await run('ip', ['netns', 'exec', network.namespaceOf(to), 'nft', '-f', '-'], forge);
  const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: rig.newFolder() });
  await agent.untilReady();
  await network.send({ from, to, family: 4, protocol: 'udp', port: 9, count: 1 });
  const events = await rig.untilEvents(namespace, (all) => all.length === 2);
  expect(Object.fromEntries(events.map(({ involvedObject, message }) => [involvedObject.name, message]))).toEqual({
    [attacker.name]: expect.stringMatching(new RegExp(` ${keys[2]} \\(\\S+\\): ICMP port unreachable\\.`)),
    [other.name]: expect.stringMatching(new RegExp(` ${keys[1]} \\(\\S+\\): ICMP port unreachable\\.`)),
  });
});

test("a martian of a network namespace whose device is named like a Pod's is reported as a claim", async () => {
  const device = network.deviceOf(keys[0]);
  const [inside, beside] = [network.namespaceOf(keys[1]), network.namespaceOf(keys[2])];
  await run('ip', ['-n', inside, 'link', 'add', device, 'type', 'veth', 'peer', 'name', 'forged', 'netns', beside]);
  const configure = `ip address add 10.212.0.1/24 dev ${device}; ip link set ${device} up
    for each in all ${device}; do echo 1 > /proc/sys/net/ipv4/conf/$each/rp_filter; echo 1 > /proc/sys/net/ipv4/conf/$each/log_martians; done`;
  await run('ip', ['netns', 'exec', inside, 'sh', '-ec', configure]);
  const spoof = `ip address add 10.212.0.2/24 dev forged; ip address add 203.0.113.77/32 dev forged; ip link set forged up
    ping -n -q -c 1 -W 0.01 -I 203.0.113.77 10.212.0.1 || :`;
  const agent = rig.start({ NODE_NAME: node, SOURCES: 'kernel', STATE_DIR: rig.newFolder() });
  await agent.untilReady();
  await run('ip', ['netns', 'exec', beside, 'sh', '-ec', spoof]);
  const [event] = await rig.untilEvents(namespace, (all) => all.length > 0, victim.name);
  expect(event?.message).toMatch(/ 10\.212\.0\.1 .* 203\.0\.113\.77/);
  expect(event?.message).toContain('[KN403]');
});
