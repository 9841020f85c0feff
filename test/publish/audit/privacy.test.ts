import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AuditState } from '../../../src/publish/audit/audit.ts';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { type AuditedPacket, flowOf } from '../../../src/publish/audit/flow.ts';
import {
  noNamespace,
  type Privacy,
  redactionOf,
  redactionOfKept,
  redactRestored,
} from '../../../src/publish/audit/privacy.ts';
import type { OpenFlow } from '../../../src/publish/audit/open-flows.ts';
import { rowText } from '../../../src/publish/audit/record.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import { ends, externalEnd, nine, nodeEnd, observation, packet, podEnd, workerEnd } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const all: Privacy = { peers: 'shown', bits: { ipv4: 32, ipv6: 128 }, isHidden: noNamespace, labels: [] };

function flow(privacy: Partial<Privacy>, given: Partial<AuditedPacket> = {}) {
  const found = {
    observation: observation(),
    ends: ends({ source: workerEnd(1), destination: podEnd() }),
    node: 'node-a',
    noise: undefined,
    ...given,
  };
  return flowOf(found, redactionOf({ ...all, ...privacy }));
}

const policyOf = (namespace: string) =>
  observation({
    prefix: 'calico-drop',
    policy: { kind: 'NetworkPolicy', name: 'default-deny', namespace, tier: undefined },
  });

const names = ({ fields }: { fields: FlowRecord }, end: 'source' | 'destination') =>
  Object.keys(JSON.parse(JSON.stringify(fields)) as object).filter((name) => name.startsWith(end));

test('without redaction there is nothing to do', () => {
  expect(redactionOf(all)).toBeUndefined();
});

const redactedPeers = { peers: 'redacted' } as const;

test('the sender of packets to a Pod is not named, nor is the interface', () => {
  const found = flow(redactedPeers, { observation: observation({ inInterface: 'cali1', outInterface: 'cali2' }) });
  expect(names(found, 'source')).toEqual(['source.kind']);
  expect(found.fields).toMatchObject({
    'source.kind': 'redacted',
    'destination.k8s.pod.name': 'web-0',
    'interface.out': 'cali2',
  });
  expect(found.fields).not.toHaveProperty(['interface.in']);
});

test('no key has peers of other namespaces: two of them are one flow, and nothing on disk names them', () => {
  const [one, other] = [
    workerEnd(1),
    podEnd({ object: { ...workerEnd(1).object, namespace: 'secret' } as never, node: 'node-b' }),
  ].map((source) => flow(redactedPeers, { ends: ends({ source, destination: podEnd() }) }));
  expect(one).toEqual(other);
  expect(JSON.stringify(one)).not.toMatch(/worker|batch|secret|10\.65\.2/);
});

test.each([
  ['batch', 'destination'],
  ['shop', 'source'],
] as const)('for a policy of %s, the %s is not named', (namespace, end) => {
  const found = flow(redactedPeers, { observation: policyOf(namespace) });
  expect(names(found, end)).toEqual(end === 'source' ? ['source.kind'] : ['destination.port', 'destination.kind']);
  expect(found.fields).toMatchObject({ 'policy.namespace': namespace, 'security_rule.name': 'default-deny' });
});

test('Pods of one namespace, Nodes and addresses are named', () => {
  for (const source of [podEnd(), nodeEnd(), externalEnd()])
    expect(flow(redactedPeers, { ends: ends({ source, destination: podEnd() }) }).fields).not.toMatchObject({
      'source.kind': 'redacted',
    });
});

const shown: FlowRecord = {
  'source.kind': 'Pod',
  'source.k8s.namespace.name': 'batch',
  'destination.kind': 'Pod',
  'destination.k8s.namespace.name': 'shop',
  'network.direction': 'egress',
  'policy.verdict': 'denied',
  'policy.direction': 'ingress',
  'policy.rule': 'ingress[3]',
};
const redactPeers = redactionOf({ ...all, peers: 'redacted' }) as (fields: FlowRecord) => FlowRecord;

test.each<[string, FlowRecord]>([
  ['by policies of the redacted end, is left out by name', { 'policy.decided_by': 'NetworkPolicy shop/default-deny' }],
  ['also where one of several is', { 'policy.decided_by': 'GlobalNetworkPolicy a,NetworkPolicy shop/default-deny' }],
  ['also where the nearest rule is', { 'policy.nearest': 'NetworkPolicy.projectcalico.org shop/x ingress[0]' }],
])('verdicts of policies of an earlier run: %s', (_, policies) => {
  const record = redactPeers({ ...shown, ...policies });
  expect(record).toMatchObject({ 'destination.kind': 'redacted', 'policy.verdict': 'denied' });
  expect(Object.keys(record).filter((name) => /decided_by|nearest|rule/.test(name))).toEqual([]);
});

test('verdicts of policies of an earlier run have no names if both ends have opted out', () => {
  const hideAll = redactionOf({ ...all, isHidden: () => true });
  const record = hideAll?.({ ...shown, 'policy.decided_by': 'NetworkPolicy shop/default-deny' });
  expect(record).toMatchObject({ 'source.kind': 'redacted', 'destination.kind': 'redacted' });
  expect(JSON.stringify(record)).not.toMatch(/shop|ingress\[3\]/);
});

test.each<[string, FlowRecord]>([
  ['by policies of the shown end', { 'policy.decided_by': 'NetworkPolicy batch/closed' }],
  ['by policies of the cluster', { 'policy.decided_by': 'GlobalNetworkPolicy lockdown' }],
])('verdicts of policies of an earlier run: %s, stays', (_, policies) => {
  expect(redactPeers({ ...shown, ...policies })).toMatchObject({ ...policies, 'policy.rule': 'ingress[3]' });
});

test('a row with a redacted end does not name a policy of a third Namespace from a log', () => {
  const ofThird = { 'policy.namespace': 'bank', 'policy.kind': 'NetworkPolicy', 'security_rule.name': 'embargo' };
  const record = redactPeers({ ...shown, ...ofThird, 'log.prefix': 'DROP by policy bank/embargo' });
  expect(record).toMatchObject({ 'destination.kind': 'redacted', 'source.k8s.namespace.name': 'batch' });
  expect(JSON.stringify(record)).not.toMatch(/bank|embargo/);
});

const optedOut = { isHidden: (namespace: string) => namespace === 'batch' };

test('a namespace that opted out is named neither as an end nor by its policy, and its packets are counted', () => {
  const found = flow(optedOut, { observation: policyOf('batch') });
  expect(JSON.stringify(found)).not.toMatch(/worker|batch|10\.65\.2|default-deny|calico-drop/);
  expect(found.fields).toMatchObject({ 'source.kind': 'redacted', 'destination.k8s.pod.name': 'web-0' });
  expect(found.namespace).toBe('shop');
});

test('a namespace that opted out does not affect addresses outside the cluster', () => {
  const found = flow({ isHidden: () => true }, { ends: ends({ source: externalEnd(), destination: podEnd() }) });
  expect(found.fields).toMatchObject({ 'source.address': '203.0.113.9', 'destination.kind': 'redacted' });
  expect(found.fields['log.prefix']).toBe(observation().prefix);
});

const named = (address: string) => {
  const source = externalEnd({ kind: 'unknown', address, identity: address, note: undefined });
  return {
    observation: observation({ packet: packet({ source: address }) }),
    ends: ends({ source, destination: podEnd() }),
  };
};

test.each(['batch/worker-*', 'NetworkSet batch/partners'])(
  'an end known only by name: %s belongs to its namespace',
  (address) => {
    expect(flow({}, named(address)).fields).toMatchObject({
      'source.address': address,
      'source.k8s.namespace.name': 'batch',
      'network.type': undefined,
    });
    for (const privacy of [
      { isHidden: (namespace: string) => namespace === 'batch' },
      { peers: 'redacted' },
    ] as const) {
      const found = flow(privacy, named(address));
      expect(JSON.stringify(found)).not.toMatch(/worker|partners|batch/);
      expect(found.fields).toMatchObject({ 'source.kind': 'redacted' });
    }
  },
);

test('an end known only by name keeps its name if addresses are cut', () => {
  for (const address of ['batch/worker-*', 'public network', 'GlobalNetworkSet partners'])
    expect(flow({ bits: { ipv4: 24, ipv6: 48 } }, named(address)).fields['source.address']).toBe(address);
});

test.each([
  ['203.0.113.9', '203.0.113.0/24'],
  ['2001:db8:1:2::3', '2001:db8:1::/48'],
  ['::ffff:203.0.113.9', '::/48'],
])('addresses are cut: %s to %s', (address, network) => {
  const source = externalEnd({ address, identity: address });
  const found = flow({ bits: { ipv4: 24, ipv6: 48 } }, { ends: ends({ source, destination: podEnd() }) });
  expect(found.fields['source.address']).toBe(network);
  expect(JSON.stringify(found)).not.toContain(address);
});

test('the name by which the sender has looked up an address is removed if the address is cut', () => {
  const destination = externalEnd({ hostName: 'pay.example.com' });
  const given = { ends: ends({ source: podEnd(), destination }) };
  expect(flow({}, given).fields['destination.domain']).toBe('pay.example.com');
  expect(flow({ bits: { ipv4: 24, ipv6: 48 } }, given).fields['destination.domain']).toBeUndefined();
});

test('addresses are cut: flows of one network become one flow, those of one workload stay one', () => {
  const keys = ['203.0.113.9', '203.0.113.10'].map(
    (address) =>
      flow(
        { bits: { ipv4: 24, ipv6: 128 } },
        { ends: ends({ source: externalEnd({ address, identity: address }), destination: podEnd() }) },
      ).key,
  );
  expect(keys[0]).toBe(keys[1]);
});

const openFlow = (source: Endpoint): OpenFlow => ({
  ...flow({}, { ends: ends({ source, destination: externalEnd() }) }),
  start: nine,
  packets: 1,
  first: nine,
  last: nine,
  others: { source: [], destination: [] },
});

const labelledSource = { ...workerEnd(1), labels: 'app=worker,team=a' };
const labelledDestination = podEnd({ labels: 'app=web,team=b' });

test('no record has labels of a redacted peer, or of a namespace that opted out', () => {
  const found = flow(
    { peers: 'redacted' },
    { ends: ends({ source: labelledSource, destination: labelledDestination }) },
  );
  expect(found.fields).toMatchObject({ 'destination.k8s.pod.labels': 'app=web,team=b' });
  expect(JSON.stringify(found)).not.toContain('worker');
  const hidden = flow(
    { isHidden: (namespace) => namespace === 'shop' },
    { ends: ends({ source: labelledSource, destination: labelledDestination }) },
  );
  expect(hidden.fields).toMatchObject({ 'source.k8s.pod.labels': 'app=worker,team=a' });
  expect(JSON.stringify(hidden)).not.toContain('team=b');
});

test('labels kept by an earlier run are removed if this run does not ask for them', () => {
  const { fields } = flow({}, { ends: ends({ source: labelledSource, destination: externalEnd() }) });
  const state: AuditState = {
    progress: { newest: 1, sinks: {}, closings: 0 },
    rows: [['1', rowText({ 'event.id': 'id-1', ...fields })]],
    flows: [],
  };
  const shownWith = (labels: string[]): unknown => {
    const redact = redactionOfKept({ ...all, labels }, state);
    const [[, row] = ['', '{}']] = redact === undefined ? state.rows : redactRestored(state, redact).rows;
    return (JSON.parse(row) as FlowRecord)['source.k8s.pod.labels'];
  };
  expect(['app,team', 'team', ''].map((labels) => shownWith(labels.split(',')))).toEqual([
    'app=worker,team=a',
    'team=a',
    undefined,
  ]);
});

test('labels of an open flow are removed even if another flow and its other end have none', () => {
  const state: AuditState = {
    progress: { newest: 0, sinks: {}, closings: 0 },
    rows: [],
    flows: [openFlow(workerEnd(2)), openFlow(labelledSource)],
  };
  const redact = redactionOfKept({ ...all, labels: ['team'] }, state) ?? ((fields) => fields);
  const { flows } = redactRestored(state, redact);
  expect(flows.map(({ fields }) => fields['source.k8s.pod.labels'])).toEqual([undefined, 'team=a']);
});

test('without labels from an earlier run, nothing has to be removed', () => {
  const flows = [openFlow(workerEnd(2))];
  expect(redactionOfKept(all, { rows: [['1', rowText(flow({}).fields)]], flows })).toBeUndefined();
});

test('redacting twice changes nothing', () => {
  const privacy = fc.record({
    peers: fc.constantFrom('shown' as const, 'redacted' as const),
    bits: fc.record({ ipv4: fc.nat(32), ipv6: fc.nat(128) }),
    hidden: fc.subarray(['batch', 'shop']),
  });
  const end = fc.constantFrom(
    workerEnd(1),
    podEnd(),
    externalEnd(),
    externalEnd({ address: '2001:db8::1' }),
    nodeEnd(),
  );
  forAll([privacy, end, end, fc.constantFrom('batch', 'shop', 'other')], {}, (given, source, destination, of) => {
    const redact =
      redactionOf({ ...all, ...given, isHidden: (namespace) => given.hidden.includes(namespace) }) ?? ((x) => x);
    const { fields } = flowOf({
      observation: policyOf(of),
      ends: ends({ source, destination }),
      node: 'a',
      noise: undefined,
    });
    const once = redact(fields);
    expect(redact(once)).toEqual(once);
  });
});

test("records of an earlier run are redacted by this run's settings, with their ids and numbers", () => {
  const { fields, ...of } = flow({}, { observation: observation({ packet: packet({ destinationPort: 80 }) }) });
  const row = rowText({ 'event.id': 'id-1', 'network.packets': 3, ...fields });
  const open = { ...of, fields, start: nine, packets: 2, first: nine, last: nine, mixed: [] };
  const state: AuditState = {
    progress: { newest: 1, sinks: {}, closings: 0 },
    rows: [['1', row]],
    flows: [{ ...open, others: { source: ['10.65.2.7', '10.65.2.8'], destination: ['10.65.1.200'] } }],
  };
  const redact = redactionOf({ ...all, peers: 'redacted', bits: { ipv4: 24, ipv6: 128 } }) ?? ((x) => x);
  const redacted = redactRestored(state, redact);
  expect(JSON.stringify([redacted.rows, redacted.flows])).not.toMatch(/worker|batch|10\.65\.2|10\.65\.1\.[1-9]/);
  expect(JSON.parse(redacted.rows[0]?.[1] ?? '')).toMatchObject({ 'event.id': 'id-1', 'network.packets': 3 });
  expect(redacted.flows).toMatchObject([{ packets: 2, others: { source: [], destination: [] } }]);
  expect(redactRestored(redacted, redact)).toEqual(redacted);
});

test('further addresses of an earlier run are truncated, and each network appears once', () => {
  const source = externalEnd({ address: '198.51.100.1' });
  const { fields, ...of } = flow({}, { ends: ends({ source, destination: podEnd() }) });
  const others = { source: ['203.0.113.7', '203.0.113.8', '198.51.100.9'], destination: [] };
  const open = { ...of, fields, start: nine, packets: 2, first: nine, last: nine, mixed: [], others };
  const state: AuditState = { progress: { newest: 1, sinks: {}, closings: 0 }, rows: [], flows: [open] };
  const redact = redactionOf({ ...all, bits: { ipv4: 24, ipv6: 128 } }) ?? ((x) => x);
  expect(redactRestored(state, redact).flows[0]?.others.source).toEqual(['203.0.113.0/24']);
});

test('a policy of a namespace that opted out is not named even if neither end is known to belong to it', () => {
  const given = { observation: policyOf('secret'), ends: ends({ source: externalEnd(), destination: externalEnd() }) };
  const { fields } = flow({ isHidden: (namespace) => namespace === 'secret' }, given);
  expect(JSON.stringify(fields)).not.toMatch(/secret|default-deny/);
  expect(flow({ isHidden: (namespace) => namespace === 'other' }, given).fields).toHaveProperty(
    ['policy.namespace'],
    'secret',
  );
});

const errorRecord = {
  'original.source.address': '10.65.1.4',
  'original.destination.address': '10.65.2.9',
  'original.destination.port': 80,
};
const left = (privacy: Partial<Privacy>) => redactionOf({ ...all, ...privacy })?.(errorRecord);

test('addresses of the packet in an ICMP error are left out if names are redacted', () => {
  const port = { 'original.destination.port': 80 };
  expect([left({ peers: 'redacted' }), left({ isHidden: () => false })]).toEqual([port, port]);
});

test('addresses of the packet in an ICMP error are cut like others', () => {
  expect(left({ bits: { ipv4: 16, ipv6: 128 } })).toEqual({
    'original.source.address': '10.65.0.0/16',
    'original.destination.address': '10.65.0.0/16',
    'original.destination.port': 80,
  });
});
