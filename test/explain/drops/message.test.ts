import { expect, test } from 'vitest';
import { messageOf } from '../../../src/count/pipeline/message.ts';
import { nodeRefByName } from '../../../src/base/model/endpoint.ts';
import type { PolicyVerdict } from '../../../src/base/model/policy-answer.ts';
import type { FlowDetails, ScanDetails } from '../../../src/base/model/finding.ts';
import type { Series, DistinctValues } from '../../../src/base/model/series.ts';
import { externalEnd, finding, flow, nodeEnd, podEnd, podRef, series, serviceEnd, workerEnd } from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';

/** Files in `messages/` have each whole message; `npm run update -- wording` writes it. */
async function expectMessages(part: string, messages: Readonly<Record<string, string>>): Promise<void> {
  const lines = Object.entries(messages).map(([title, text]) => `${title}: ${text}`);
  await expectLines(`${import.meta.dirname}/messages`, `${part}.expected.txt`, lines);
}

const distinct = (values: string[], past = 0): DistinctValues => ({ seen: values, past });
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index + 1}/TCP`);
const message = (details: Partial<FlowDetails>, given: Partial<Series> = {}): string =>
  messageOf(series({ finding: finding({ details: flow(details) }), ...given }));

const reporter = externalEnd({ address: '198.51.100.1' });
const tooBig = { reporter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 };
const calico = { prefix: 'calico-drop:', enforcer: 'network-policy' } as const;
const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'web', tier: undefined };

test('messages of a packet are as expected', async () => {
  const peers = distinct(['10.65.2.1', '10.65.2.2', '10.65.2.3']);
  await expectMessages('packet', {
    'a workload’s Pods, refused by the receiver': message(
      { ...calico, peer: workerEnd(1), refusedBy: 'receiver', path: 'eth0 → calic440f455693' },
      { peers },
    ),
    'a Pod, and a LOG prefix names a policy': message({
      ...calico,
      direction: 'sending',
      peer: podEnd({ address: '10.65.2.9', object: podRef('db-0') }),
      refusedBy: 'sender',
      policy: { ...policy, name: 'default-deny' },
    }),
    'one of several Pods, to a network': message({
      direction: 'sending',
      enforcer: 'network-policy',
      logger: 'calico-flow',
      peer: externalEnd({ address: 'public network', note: 'the log has no address' }),
      sharedWith: ['web-b'],
      policy: { kind: 'GlobalNetworkPolicy', namespace: undefined, name: 'lockdown', tier: 'platform' },
    }),
    'rejected by a firewall': message({
      direction: 'sending',
      port: 443,
      verdict: 'rejected',
      enforcer: 'host-firewall',
      prefix: 'filter_FWD_public_REJECT:',
      policy: { kind: 'firewalld zone', namespace: undefined, name: 'public', tier: undefined },
    }),
    'an ICMP error': message({ error: tooBig, protocol: 'TCP', port: 443 }),
    "a martian of the kernel's own record": message({
      martian: true,
      protocol: '',
      port: undefined,
      path: 'eth1',
      prefix: 'martian source',
      logger: 'kernel-drop',
    }),
    'a martian': message({ martian: true, protocol: '', port: undefined, path: 'eth1', prefix: 'martian source' }),
    'counts that are lower bounds': message({}, { suppressed: true }),
  });
  expect(message({})).not.toContain('at least');
});

/** Alert rules of users match these words. */
test.each<[Partial<FlowDetails>, string]>([
  [{ port: 5678 }, 'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster) on port 5678/TCP'],
  [
    { port: 1234, direction: 'sending', peer: podEnd() },
    'Packet dropped when sending traffic to shop/web-0 (10.65.1.4) on port 1234/TCP',
  ],
  [
    { port: 5678, verdict: 'rejected' },
    'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster) on port 5678/TCP',
  ],
])('the phrases that alert rules match stay: %j', (details, expected) => {
  expect(message(details).startsWith(expected)).toBe(true);
});

test('messages name the peer in the expected words', async () => {
  const peer = workerEnd(1);
  await expectMessages('peer', {
    'a node': message({ peer: nodeEnd() }),
    'a Service': message({ peer: serviceEnd() }),
    'one Pod of a workload': message({ peer }, { peers: distinct(['10.65.2.1']) }),
    'two Pods of a workload': message({ peer }, { peers: distinct(['10.65.2.1', '10.65.2.2']) }),
    'more Pods than were remembered': message(
      { peer },
      { peers: distinct(['10.65.2.1', '10.65.2.2', '10.65.2.3'], 7) },
    ),
    'an address without a note': message({ peer: externalEnd({ note: undefined }) }),
  });
});

test('messages name the protocol in the expected words', async () => {
  const icmp = { protocol: 'ICMP', port: undefined, icmpType: 8, icmpCode: 0 };
  const withName = { error: tooBig, port: 5432, portName: 'postgres' };
  await expectMessages('protocol', {
    'a port without a name': message({ port: 49999 }),
    'a well-known port': message({ port: 53, protocol: 'UDP' }),
    'a port with a name of its own': message({ port: 9090, portName: 'web' }),
    'a well-known port with a name of its own': message({ port: 443, portName: 'admin' }),
    'an answer from a port with a name': message({ reply: true, portName: 'postgres' }),
    'an ICMP error about a port with a name': message(withName),
    'an answer': message({ reply: true }),
    'an answer of the Pod': message({ reply: true, direction: 'sending' }),
    'a ping': message(icmp),
    'a protocol without a port': message({ protocol: 'SCTP', port: undefined }),
    'a later fragment': message({ protocol: 'UDP', port: undefined, laterFragment: true }),
    'an ICMP error of a node, without an MTU': message({
      error: { ...tooBig, reporter: nodeEnd(), mtu: undefined },
      port: 443,
    }),
    'an ICMP error of the peer itself': message({ error: { ...tooBig, code: 3, reporter: externalEnd() }, port: 443 }),
    'an ICMP error from a strange address': message({
      error: { ...tooBig, reporter: { ...workerEnd(1), note: 'not its own address' } },
    }),
    'an ICMP error about a protocol without ports': message({ error: tooBig, port: undefined, protocol: 'GRE' }),
    'an ICMP error about answers': message({ error: tooBig, peer: workerEnd(1), reply: true }),
  });
});

const overflow = (peers: DistinctValues, ports: DistinctValues): string =>
  messageOf(series({ finding: finding({ details: { kind: 'overflow', example: flow() } }), peers, ports }));

test('messages of an overflow are as expected', async () => {
  await expectMessages('overflow', {
    'one peer and port': overflow(distinct(['a']), distinct(['22/TCP'])),
    'two peers': overflow(distinct(['a', 'b']), distinct(['22/TCP', '23/TCP'])),
    'many ports': overflow(distinct(['a', 'b', 'c']), distinct(numbers(9))),
    'more than were remembered': overflow(distinct(['a', 'b', 'c'], 4), distinct(numbers(9), 4)),
    'no ports': overflow(distinct(['a', 'b']), distinct([])),
    'sixteen ports of one peer': overflow(distinct(['a']), distinct(numbers(16))),
    'fifteen ports of one peer': overflow(distinct(['a']), distinct(numbers(15))),
    'sixteen ports of two peers': overflow(distinct(['a', 'b']), distinct(numbers(16))),
  });
});

const seenAt = (details: Partial<FlowDetails>, node = ''): string =>
  messageOf(series({ finding: finding({ node, details: flow(details) }) }));

test('messages name the place in the expected words', async () => {
  await expectMessages('place', {
    'nothing known': seenAt({}),
    'interfaces only': seenAt({ path: 'eth0 → cali1' }),
    'prefix only': seenAt({ prefix: 'DROP' }),
    all: seenAt({ prefix: 'DROP', path: 'eth0 → cali1' }, 'node-b'),
    'rejected by a rule without a name': seenAt({ verdict: 'rejected' }),
    'a policy with its tier': seenAt({
      policy: { kind: undefined, namespace: undefined, name: 'deny', tier: 'platform' },
    }),
    'a LOG prefix that names a policy, of a rejected packet': seenAt({
      verdict: 'rejected',
      prefix: 'calico-drop knp shop/web',
      policy,
    }),
  });
});

test.each(['a\tb', 'a\nb', 'a\r\nb', 'a\u0085b', 'a\u001b[31mb'])(
  'a message is one line, without tabs and control characters: %j',
  (prefix) => {
    expect(message({ prefix })).not.toMatch(/\p{Cc}/u);
  },
);

const manyPorts = (example: Partial<FlowDetails>, seen: string[], past = 0): string =>
  messageOf(
    series({
      finding: finding({ details: { kind: 'ports', example: flow(example) } }),
      ports: { ...distinct(seen), past },
    }),
  );

test('messages about many ports of one peer are as expected', async () => {
  const peer = podEnd({ address: '10.65.9.9', object: podRef('netcheck', 'lab') });
  await expectMessages('ports', {
    'of a Pod: who is to be looked at comes first': manyPorts({ ...calico, peer }, numbers(300)),
    'of the Pod itself': manyPorts({ ...calico, direction: 'sending', peer }, numbers(16)),
    'of an address outside': manyPorts({}, numbers(512), 70),
    'that are too few for a scan: what may be true of all of them is advised': manyPorts(
      { ...calico, policy, refusedBy: 'sender', peer, port: 53 },
      ['111/UDP', '2049/TCP'],
    ),
    'that are one, of several policies': manyPorts({ ...calico, policy }, ['80/TCP']),
    'that answer': manyPorts({ reply: true, peer }, numbers(20)),
    'from which the Pod answers': manyPorts(
      { reply: true, direction: 'sending', verdict: 'rejected', peer },
      numbers(2),
    ),
  });
});

const scan = (
  of: ScanDetails['of'],
  example: Partial<FlowDetails>,
  peers: string[],
  ports: string[],
  { look, answer }: { look?: 'scan' | 'monitoring'; answer?: PolicyVerdict } = {},
): string =>
  messageOf(
    series({
      finding: finding({ details: { kind: 'scan', of, example: flow(example) } }),
      peers: distinct(peers),
      ports: distinct(ports),
      scan: { since: 0, minutes: 0, packets: 0, most: 0, current: 1, look },
    }),
    { answer },
  );

test('messages of a scan are as expected', async () => {
  const byPod = { ...calico, peer: podEnd({ address: '10.65.9.9', object: podRef('scan', 'lab') }) };
  const pods = Array.from({ length: 110 }, (_, number) => `shop/web-${number}`);
  const answer: PolicyVerdict = {
    outcome: 'denies',
    text: 'Denied by shop/default-deny.',
    act: 'To allow it, add a policy.',
    policy: undefined,
    isOwn: true,
  };
  const two = ['203.0.113.9', '203.0.113.8'];
  const checks = { look: 'monitoring', answer } as const;
  const toPod = { direction: 'sending', peer: podEnd() } as const;
  const fromCalico = { ...calico, direction: 'sending' } as const;
  const past = finding({ regarding: nodeRefByName('node-a'), details: { kind: 'overflow', example: flow() } });
  await expectMessages('scan', {
    'of a Pod that is tried by a Pod': scan('target', byPod, ['Pod/lab/scan'], ['22/TCP']),
    'of a Pod that is tried by a Pod on many ports: nobody is told to let it in': scan(
      'target',
      byPod,
      ['Pod/lab/scan'],
      numbers(16),
      { look: 'scan' },
    ),
    'of a Pod that an address tries on many ports': scan('target', {}, ['203.0.113.9'], numbers(16), { look: 'scan' }),
    'of a Pod that is tried by several addresses': scan('target', {}, two, ['22/TCP', '80/TCP']),
    'of a Pod whose health checks are kept out, with what policies say of the one that is named': scan(
      'target',
      calico,
      two,
      ['8080/TCP'],
      checks,
    ),
    'of a Pod that one address checks': scan('target', calico, ['203.0.113.9'], ['8080/TCP'], checks),
    'of a Pod that scans': scan('scanner', toPod, pods, ['22/TCP']),
    'of a Pod that monitors': scan('scanner', fromCalico, ['shop/a', 'shop/b'], ['22/TCP'], { look: 'monitoring' }),
    'of a node whose Pods an address tries': scan('stranger', {}, pods, ['22/TCP', '80/TCP']),
    'of a node whose Pods an address scans': scan('stranger', {}, pods, ['22/TCP', '80/TCP'], { look: 'scan' }),
    'of a node, past its places': messageOf(series({ finding: past, peers: distinct(two) })),
  });
});
