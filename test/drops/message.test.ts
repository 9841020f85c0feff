import { describe, expect, test } from 'vitest';
import { messageOf } from '../../src/pipeline/message.ts';
import { nodeRef } from '../../src/model/endpoint.ts';
import type { PolicyVerdict } from '../../src/drops/policy-verdict.ts';
import type { FlowDetails, ScanDetails } from '../../src/model/finding.ts';
import type { Series, DistinctValues } from '../../src/model/series.ts';
import { externalEnd, finding, flow, nodeEnd, podEnd, podRef, series, serviceEnd, workerEnd } from '../builders.ts';

const distinct = (values: string[], past = 0): DistinctValues => ({ seen: values, past });
const message = (details: Partial<FlowDetails>, given: Partial<Series> = {}): string =>
  messageOf(series({ finding: finding({ details: flow(details) }), ...given }));

const reporter = externalEnd({ address: '198.51.100.1' });
const tooBig = { reporter, protocol: 'ICMP', type: 3, code: 4, mtu: 1400 };
const calico = { prefix: 'calico-drop:', enforcer: 'network-policy' } as const;

describe('in full', () => {
  test.each<[string, Partial<FlowDetails>, Partial<Series>, string]>([
    [
      'a workload’s Pods, refused by the receiver',
      { ...calico, peer: workerEnd(1), refusedBy: 'receiver', path: 'eth0 → calic440f455693' },
      { peers: distinct(['10.65.2.1', '10.65.2.2', '10.65.2.3']) },
      'Packet dropped when receiving traffic from Deployment batch/worker (10.65.2.1 and 2 more Pods) on port 5432/TCP. ' +
        '[node-a, "calico-drop"] Check ingress policies of this Pod: kubectl -n shop describe networkpolicy',
    ],
    [
      'a Pod, and a LOG prefix names a policy',
      {
        ...calico,
        direction: 'sending',
        peer: podEnd({ address: '10.65.2.9', object: podRef('db-0') }),
        refusedBy: 'sender',
        policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'default-deny', tier: undefined },
      },
      {},
      'Packet dropped when sending traffic to shop/db-0 (10.65.2.9) on port 5432/TCP. [node-a] A rule of NetworkPolicy shop/default-deny matched this packet; the log does not show whether that policy denied it. ' +
        'Check: kubectl -n shop describe networkpolicy default-deny',
    ],
    [
      'one of several Pods, to a network',
      {
        direction: 'sending',
        enforcer: 'network-policy',
        logger: 'calico-flow',
        peer: externalEnd({ address: 'public network', note: 'the log has no address' }),
        sharedWith: ['web-b'],
        policy: { kind: 'GlobalNetworkPolicy', namespace: undefined, name: 'lockdown', tier: 'platform' },
      },
      {},
      'Packet dropped when sending traffic to public network (the log has no address) on port 5432/TCP. [node-a] The log counts this Pod and web-b as one: it may have been either of them. ' +
        'Denied by GlobalNetworkPolicy lockdown (tier platform). Check: calicoctl get globalnetworkpolicy lockdown -o yaml',
    ],
    [
      'rejected by a firewall',
      {
        direction: 'sending',
        port: 443,
        verdict: 'rejected',
        enforcer: 'host-firewall',
        prefix: 'filter_FWD_public_REJECT:',
        policy: { kind: 'firewalld zone', namespace: undefined, name: 'public', tier: undefined },
      },
      {},
      'Packet dropped when sending traffic to 203.0.113.9 (outside the cluster) on port 443/TCP (https). [node-a] Rejected by firewalld zone public. ' +
        "This is the node's own firewall, no NetworkPolicy. Allow forwarding from the Pod range there. Disable the firewall only if something else protects the node. " +
        'A reload often puts its rules before those of the CNI plugin.',
    ],
    [
      'an ICMP error',
      { error: tooBig, protocol: 'TCP', port: 443 },
      {},
      'Packet dropped when receiving traffic from 198.51.100.1, which reports the ICMP error "fragmentation needed" (at most 1400 bytes) about this Pod\'s traffic to 203.0.113.9 on port 443/TCP (https). [node-a] ' +
        'Allow ICMP type 3 code 4 to Pods, or lower the MTU of Pods to 1400. ' +
        'If the error is genuine, large packets to 203.0.113.9 are lost and connections hang.',
    ],
    [
      'a martian',
      { martian: true, protocol: '', port: undefined, path: 'eth1', prefix: 'martian source' },
      {},
      "Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster). [node-a] Fix the route back: by the node's routes that source cannot be behind eth1, so the kernel's reverse-path filter refused it. " +
        'If it comes another way on purpose, set net/ipv4/conf/eth1/rp_filter to 2, which checks forged sources less strictly. ' +
        'A Pod can also cause this, with a device of that name in its own network namespace. [KN403]',
    ],
  ])('%s', (_, details, given, expected) => {
    expect(message(details, given)).toBe(expected);
  });
});

describe('the phrases that alert rules match', () => {
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
  ])('%j', (details, expected) => {
    expect(message(details).startsWith(expected)).toBe(true);
  });
});

describe('the peer', () => {
  test.each<[string, Partial<FlowDetails>, Partial<Series>, string]>([
    ['node', { peer: nodeEnd() }, {}, 'from node node-a (192.168.7.11) on'],
    ['Service', { peer: serviceEnd() }, {}, 'from Service shop/api (10.96.0.80) on'],
    [
      'one Pod of a workload',
      { peer: workerEnd(1) },
      { peers: distinct(['10.65.2.1']) },
      'from batch/worker-1 (10.65.2.1) on',
    ],
    [
      'two Pods of a workload',
      { peer: workerEnd(1) },
      { peers: distinct(['10.65.2.1', '10.65.2.2']) },
      'from Deployment batch/worker (10.65.2.1 and 1 more Pod) on',
    ],
    [
      'more Pods than were remembered',
      { peer: workerEnd(1) },
      { peers: distinct(['10.65.2.1', '10.65.2.2', '10.65.2.3'], 7) },
      '(10.65.2.1 and over 2 more Pods)',
    ],
    ['an address without a note', { peer: externalEnd({ note: undefined }) }, {}, 'from 203.0.113.9 on'],
  ])('%s', (_, details, given, expected) => {
    expect(message(details, given)).toContain(expected);
  });
});

describe('what it was', () => {
  test.each<[Partial<FlowDetails>, string]>([
    [{ port: 49999 }, ' on port 49999/TCP.'],
    [{ port: 53, protocol: 'UDP' }, ' on port 53/UDP (domain).'],
    [{ port: 9090, portName: 'web' }, ' on port 9090/TCP (web).'],
    [{ port: 443, portName: 'admin' }, ' on port 443/TCP (admin).'],
    [{ reply: true, portName: 'postgres' }, ': answers from its port 5432/TCP (postgres).'],
    [
      { error: tooBig, port: 5432, portName: 'postgres' },
      "about this Pod's traffic to 203.0.113.9 on port 5432/TCP (postgres).",
    ],
    [{ reply: true }, ': answers from its port 5432/TCP.'],
    [{ reply: true, direction: 'sending' }, ": this Pod's answers from port 5432/TCP."],
    [{ protocol: 'ICMP', port: undefined, icmpType: 8, icmpCode: 0 }, ': ICMP echo request (ping).'],
    [{ protocol: 'SCTP', port: undefined }, ' over SCTP.'],
    [{ protocol: 'UDP', port: undefined, laterFragment: true }, ' over UDP (later fragments, which have no ports).'],
    [
      { error: { ...tooBig, reporter: nodeEnd(), mtu: undefined }, port: 443 },
      ' node node-a (192.168.7.11), which reports the ICMP error "fragmentation needed" about',
    ],
    [
      { error: { ...tooBig, code: 3, reporter: externalEnd() }, port: 443 },
      ' 203.0.113.9, which reports the ICMP error "port unreachable" (at most 1400 bytes) about this Pod\'s traffic to it on port 443/TCP',
    ],
    [
      { error: { ...tooBig, reporter: { ...workerEnd(1), note: 'not its own address' } } },
      ' batch/worker-1 (10.65.2.1, not its own address), which reports the ICMP error',
    ],
    [{ error: tooBig, port: undefined, protocol: 'GRE' }, "about this Pod's traffic to 203.0.113.9 over GRE."],
    [
      { error: tooBig, peer: workerEnd(1), reply: true },
      "about this Pod's traffic to batch/worker-1 (10.65.2.1) (answers from port 5432/TCP).",
    ],
  ])('%j', (details, expected) => {
    expect(message(details)).toContain(expected);
  });
});

const overflow = (example: Partial<FlowDetails>, peers: DistinctValues, ports: DistinctValues): string =>
  messageOf(series({ finding: finding({ details: { kind: 'overflow', example: flow(example) } }), peers, ports }));

describe('an overflow', () => {
  const last = 'Too many distinct drops; this Event counts the rest. [node-a]';

  test.each([
    {
      name: 'one peer and port',
      peers: distinct(['a']),
      ports: distinct(['22/TCP']),
      expected: `from 203.0.113.9 (outside the cluster), on port 22/TCP. ${last}`,
    },
    {
      name: 'two peers',
      peers: distinct(['a', 'b']),
      ports: distinct(['22/TCP', '23/TCP']),
      expected: `from 203.0.113.9 (outside the cluster) and 1 other peer, on ports 22/TCP, 23/TCP. ${last}`,
    },
    {
      name: 'many ports',
      peers: distinct(['a', 'b', 'c']),
      ports: distinct(numbers(9)),
      expected: `and 2 other peers, on ports 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 4 more. ${last}`,
    },
    {
      name: 'more than were remembered',
      peers: distinct(['a', 'b', 'c'], 4),
      ports: distinct(numbers(9), 4),
      expected: `and over 2 other peers, on ports 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and over 4 more. ${last}`,
    },
    { name: 'no ports', peers: distinct(['a', 'b']), ports: distinct([]), expected: `and 1 other peer. ${last}` },
  ])('$name', ({ peers, ports, expected }) => {
    expect(overflow({}, peers, ports)).toContain(expected);
  });

  test('of many ports of one peer looks like a port scan', () => {
    const scan = 'This looks like a port scan.';
    expect(overflow({}, distinct(['a']), distinct(numbers(16)))).toContain(scan);
    expect(overflow({}, distinct(['a']), distinct(numbers(15)))).not.toContain(scan);
    expect(overflow({}, distinct(['a', 'b']), distinct(numbers(16)))).not.toContain(scan);
  });
});

describe('where it was seen', () => {
  test.each<[string, Partial<FlowDetails>, string, string]>([
    ['nothing known', {}, '', 'on port 5432/TCP.'],
    ['interfaces only', { path: 'eth0 → cali1' }, '', '[eth0 → cali1]'],
    ['prefix only', { prefix: 'DROP' }, '', '["DROP"]'],
    ['all', { prefix: 'DROP', path: 'eth0 → cali1' }, 'node-b', '[node-b, eth0 → cali1, "DROP"]'],
    ['rejected by a rule without a name', { verdict: 'rejected' }, '', 'Rejected.'],
    [
      'a policy with its tier',
      { policy: { kind: undefined, namespace: undefined, name: 'deny', tier: 'platform' } },
      '',
      'Denied by policy deny (tier platform).',
    ],
    [
      'a LOG prefix that names a policy, of a rejected packet',
      {
        verdict: 'rejected',
        prefix: 'calico-drop knp shop/web',
        policy: { kind: 'NetworkPolicy', namespace: 'shop', name: 'web', tier: undefined },
      },
      '',
      'Rejected. A rule of NetworkPolicy shop/web matched this packet; the log does not show whether that policy denied it.',
    ],
  ])('%s', (_, details, node, expected) => {
    expect(messageOf(series({ finding: finding({ node, details: flow(details) }) })).endsWith(expected)).toBe(true);
  });
});

const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index + 1}/TCP`);

test('counts that are lower bounds are called so', () => {
  expect(message({}, { suppressed: true })).toContain(
    'Log lines were suppressed or lost meanwhile, so there were at least this many.',
  );
  expect(message({})).not.toContain('at least');
});

test.each(['a\tb', 'a\nb', 'a\r\nb', 'a\u0085b', 'a\u001b[31mb'])(
  'a message is one line, without tabs and control characters: %j',
  (prefix) => {
    expect(message({ prefix })).not.toMatch(/\p{Cc}/u);
  },
);

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

const manyPorts = (example: Partial<FlowDetails>, seen: string[], past = 0): string =>
  messageOf(
    series({
      finding: finding({ details: { kind: 'ports', example: flow(example) } }),
      ports: { ...distinct(seen), past },
    }),
  );

describe('many ports of one peer', () => {
  const netcheck = podEnd({ address: '10.65.9.9', object: podRef('netcheck', 'lab') });
  const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: 'web', tier: undefined };
  const looks = 'looks like a port scan, or like FTP or RPC, which choose ports as they go.';

  test.each<[string, string, string]>([
    [
      'of a Pod: who is to be looked at comes first',
      manyPorts({ ...calico, peer: netcheck }, numbers(300)),
      'Packet dropped when receiving traffic from lab/netcheck (10.65.9.9), on 300 ports: 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 295 more. ' +
        `[node-a, "calico-drop"] Check what lab/netcheck runs: this ${looks}`,
    ],
    [
      'of the Pod itself',
      manyPorts({ ...calico, direction: 'sending', peer: netcheck }, numbers(16)),
      'Packet dropped when sending traffic to lab/netcheck (10.65.9.9), on 16 ports: 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 11 more. ' +
        `[node-a, "calico-drop"] Check what this Pod runs: this ${looks}`,
    ],
    [
      'of an address outside',
      manyPorts({}, numbers(512), 70),
      'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster), on over 512 ports: 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and over 507 more. ' +
        `[node-a] This ${looks}`,
    ],
    [
      'that are too few for a scan: what may be true of all of them is advised',
      manyPorts({ ...calico, policy, refusedBy: 'sender', peer: netcheck, port: 53 }, ['111/UDP', '2049/TCP']),
      'Packet dropped when receiving traffic from lab/netcheck (10.65.9.9), on 2 ports: 111/UDP, 2049/TCP. [node-a, "calico-drop"] ' +
        'Check ingress policies of this Pod and egress policies of its peer: kubectl -n shop describe networkpolicy; kubectl -n lab describe networkpolicy',
    ],
    [
      'that are one, of several policies',
      manyPorts({ ...calico, policy }, ['80/TCP']),
      'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster), on port 80/TCP. [node-a, "calico-drop"] ' +
        'Check ingress policies of this Pod: kubectl -n shop describe networkpolicy',
    ],
    [
      'that answer',
      manyPorts({ reply: true, peer: netcheck }, numbers(20)).split(' Check')[0] ?? '',
      'Packet dropped when receiving traffic from lab/netcheck (10.65.9.9): answers from 20 ports: 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 15 more. [node-a]',
    ],
    [
      'from which the Pod answers',
      manyPorts({ reply: true, direction: 'sending', verdict: 'rejected', peer: netcheck }, numbers(2)).split(
        ' Check',
      )[0] ?? '',
      "Packet dropped when sending traffic to lab/netcheck (10.65.9.9): this Pod's answers from 2 ports: 1/TCP, 2/TCP. [node-a] Rejected.",
    ],
  ])('%s', (_, given, expected) => {
    expect(given).toBe(expected);
  });
});

describe('a scan', () => {
  const scanner = podEnd({ address: '10.65.9.9', object: podRef('scan', 'lab') });
  const pods = Array.from({ length: 110 }, (_, number) => `shop/web-${number}`);
  const either = 'This looks like a scan, or like monitoring that a rule keeps out.';
  const summary = 'This is a summary: the Events of these Pods count the same packets.';
  const toPods = `Packets from 203.0.113.9 (outside the cluster) to 110 Pods of this node were dropped (shop/web-0, shop/web-1, shop/web-2, shop/web-3, shop/web-4 and 105 more)`;
  const denied: PolicyVerdict = { outcome: 'denies', text: 'Denied by shop/default-deny.', policy: undefined };

  test.each<[string, string, string]>([
    [
      'of a Pod that is tried by a Pod',
      scan('target', { ...calico, peer: scanner }, ['Pod/lab/scan'], ['22/TCP']),
      'Packet dropped when receiving traffic from lab/scan (10.65.9.9), on port 22/TCP. [node-a, "calico-drop"] ' +
        'This looks like a scan, or like monitoring that a policy keeps out. Many Pods are tried; their summary is the Event NetworkScan of lab/scan. ' +
        'Check ingress policies of this Pod and egress policies of its peer: kubectl -n shop describe networkpolicy; kubectl -n lab describe networkpolicy',
    ],
    [
      'of a Pod that is tried by a Pod on many ports: nobody is told to let it in',
      scan('target', { ...calico, peer: scanner }, ['Pod/lab/scan'], numbers(16), { look: 'scan' }),
      'Packet dropped when receiving traffic from lab/scan (10.65.9.9), on ports 1/TCP, 2/TCP, 3/TCP, 4/TCP, 5/TCP and 11 more. [node-a, "calico-drop"] ' +
        'This looks like a scan. Many Pods are tried; their summary is the Event NetworkScan of lab/scan. Check what lab/scan runs.',
    ],
    [
      'of a Pod that is tried by several addresses',
      scan('target', {}, ['203.0.113.9', '203.0.113.8'], ['22/TCP', '80/TCP']),
      'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster) and 1 other peer, on ports 22/TCP, 80/TCP. [node-a] ' +
        `${either} Many Pods are tried; their summary is the Event NetworkScan of node node-a.`,
    ],
    [
      'of a Pod whose health checks are kept out, with what policies say of the one that is named',
      scan('target', calico, ['203.0.113.9', '203.0.113.8'], ['8080/TCP'], { look: 'monitoring', answer: denied }),
      'Packet dropped when receiving traffic from 203.0.113.9 (outside the cluster) and 1 other peer, on port 8080/TCP. [node-a, "calico-drop"] ' +
        "This looks like monitoring or a load balancer's health checks that a policy keeps out: one port, at a steady pace. " +
        'Many Pods are tried; their summary is the Event NetworkScan of node node-a. For 203.0.113.9: Denied by shop/default-deny.',
    ],
    [
      'of a Pod that one address checks',
      scan('target', calico, ['203.0.113.9'], ['8080/TCP'], { look: 'monitoring', answer: denied }).slice(-30),
      ' node-a. Denied by shop/default-deny.'.slice(-30),
    ],
    [
      'of a Pod that scans',
      scan('scanner', { direction: 'sending', peer: podEnd() }, pods, ['22/TCP']),
      `Packet dropped when sending traffic to shop/web-0 (10.65.1.4) and 109 other peers, on port 22/TCP. Check what this Pod runs. ${either} ` +
        'Pods among them have Events of their own, which count their packets. [node-a]',
    ],
    [
      'of a Pod that monitors',
      scan('scanner', { ...calico, direction: 'sending' }, ['shop/a', 'shop/b'], ['22/TCP'], { look: 'monitoring' }),
      "Packet dropped when sending traffic to 203.0.113.9 (outside the cluster) and 1 other peer, on port 22/TCP. This looks like monitoring or a load balancer's health checks that a policy keeps out: one port, at a steady pace. " +
        'Pods among them have Events of their own, which count their packets. [node-a, "calico-drop"]',
    ],
    [
      'of a node whose Pods an address tries',
      scan('stranger', {}, pods, ['22/TCP', '80/TCP']),
      `${toPods}, on ports 22/TCP, 80/TCP. ${either} ${summary} [node-a]`,
    ],
    [
      'of a node whose Pods an address scans',
      scan('stranger', {}, pods, ['22/TCP', '80/TCP'], { look: 'scan' }),
      `${toPods}, on ports 22/TCP, 80/TCP. This looks like a scan. ${summary} [node-a]`,
    ],
    [
      'of a node, past its places',
      messageOf(
        series({ finding: finding({ regarding: nodeRef('node-a'), details: { kind: 'overflow', example: flow() } }) }),
      ).slice(-129),
      `Too many distinct drops; this Event counts the rest. ${summary} [node-a]`.slice(-129),
    ],
  ])('%s', (_, text, expected) => {
    expect(text).toBe(expected);
  });
});
