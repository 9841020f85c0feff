import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adviseOn } from '../../../src/explain/drops/advice.ts';
import { askedOf, type KnownPolicies, policyNeeds } from '../../../src/explain/drops/policy-trace.ts';
import { policyVerdict } from '../../../src/explain/drops/policy-verdict.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { Finding, FlowDetails, ScanDetails } from '../../../src/base/model/finding.ts';
import type { Namespace, PolicyPod } from '../../../src/explain/policies/policies.ts';
import { messageOf } from '../../../src/count/pipeline/message.ts';
import {
  clock,
  externalEnd,
  finding,
  flow,
  nodeEnd,
  podEnd,
  podRef,
  series,
  serviceEnd,
  workerEnd,
} from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';
import { evaluator, namedObjects, namespace, networkPolicy, pod, shortObjects } from '../policies/objects.ts';
import { forAll } from '../../for-all.ts';

type Peer = 'dns' | 'external' | { node: string } | { external: Partial<Endpoint> };
type Given = Omit<Partial<FlowDetails>, 'peer'> & { peer?: Peer; policyName?: string };
type Known = { policies: (string | object)[]; namespaces?: string[]; isPeerKnown?: boolean; hostNetwork?: boolean };
type Row = [string, { received?: Given; sent?: Given }, Known];

const byNetworkPolicies: Given = { logger: 'antrea', prefix: '', refusedBy: 'receiver', byNetworkPolicies: true };
/** Kube-OVN names the NetworkPolicy that isolates the Pod. */
const byKubeOvn: Given = { ...byNetworkPolicies, logger: 'ovn-acl' };

const tables: { cases: Row[] } = {
  // Packets from batch/worker-7 to shop/postgres-0: a title; how the finding of the receiver, or of the sender,
  // differs; and the known policies, by their names in policies.yaml.
  cases: [
    ['policies of the Pod deny', { received: {} }, { policies: ['allow-frontend', 'default-deny'] }],
    [
      'a policy that changed four seconds before admits',
      { received: {} },
      { policies: ['allow-frontend', 'allow-worker'] },
    ],
    ['policies of neither end select the Pods', { received: {} }, { policies: [] }],
    [
      'its own policies admit, and those of a peer in another Namespace deny',
      { received: {} },
      { policies: ['secret-name'] },
    ],
    ['the sender reads of what the receiver denies', { sent: {} }, { policies: ['allow-frontend', 'default-deny'] }],
    [
      'the sender reads of what a policy of the receiver admits',
      { sent: { refusedBy: 'receiver' } },
      { policies: ['allow-worker'] },
    ],
    [
      'the sender reads of a policy of the whole cluster',
      { sent: { refusedBy: 'receiver' } },
      { policies: ['lockdown'] },
    ],
    ['a policy of the receiver that cannot be evaluated', { sent: {} }, { policies: ['unreadable'] }],
    ['a policy of the Pod that cannot be evaluated', { received: {} }, { policies: ['unreadable'] }],
    [
      'a policy of the peer that cannot be evaluated',
      { received: { refusedBy: 'sender' } },
      { policies: ['unreadable-there'] },
    ],
    ['a policy of the whole cluster denies', { received: { refusedBy: 'receiver' } }, { policies: ['lockdown'] }],
    [
      'the log says that NetworkPolicies decided: one that cannot be evaluated, and one of the whole cluster, did not',
      { received: byNetworkPolicies },
      { policies: ['allow-frontend', 'default-deny', 'unreadable', 'lockdown'] },
    ],
    [
      'the sender reads of it',
      { sent: byNetworkPolicies },
      { policies: ['allow-frontend', 'default-deny', 'unreadable-there', 'lockdown'] },
    ],
    ['the labels of the peer are not known', { received: {} }, { policies: ['allow-frontend'], isPeerKnown: false }],
    [
      'the Namespace of the peer asked not to be named',
      { received: {} },
      { policies: ['allow-frontend'], namespaces: ['shop', 'redacted batch'] },
    ],
    ['a policy of Calico denies', { received: {} }, { policies: ['frontend-of-calico'] }],
    [
      'a policy of Calico denies, and the Namespace of the peer asked not to be named',
      { received: {} },
      { policies: ['frontend-of-calico'], namespaces: ['shop', 'redacted batch'] },
    ],
    [
      'a policy of Calico allows another protocol, and of another Pod',
      { received: {} },
      { policies: ['ports-of-calico'] },
    ],
    ['the last rule of a policy of Calico denies the rest', { received: {} }, { policies: ['rest-of-calico'] }],
    [
      'a policy of the whole cluster denies what a NetworkPolicy does not allow',
      { received: {} },
      { policies: ['allow-frontend', 'rest-of-cluster'] },
    ],
    ['the same, read by the sender', { sent: {} }, { policies: ['allow-frontend', 'rest-of-cluster'] }],
    ['the same without a NetworkPolicy', { received: {} }, { policies: ['rest-of-cluster'] }],
    [
      'the same, where the connection failed',
      { sent: { logger: 'connect-failure' } },
      { policies: ['allow-frontend', 'rest-of-cluster'] },
    ],
    [
      'a rule of Calico denies this connection and no other, behind a policy that would allow it',
      { received: {} },
      { policies: ['allow-frontend', 'worker-of-calico'] },
    ],
    ['a policy of Cilium denies', { received: {} }, { policies: ['frontend-of-cilium'] }],
    [
      'a policy of Cilium denies, and the Namespace of the peer asked not to be named',
      { received: {} },
      { policies: ['frontend-of-cilium'], namespaces: ['shop', 'redacted batch'] },
    ],
    ['the sender reads of what policies of Cilium deny', { sent: {} }, { policies: ['frontend-of-cilium'] }],
    [
      'the Namespace of the peer is not known',
      { received: {} },
      { policies: ['allow-frontend'], namespaces: ['shop'] },
    ],
    ['the peer is outside the cluster', { received: { peer: 'external' } }, { policies: ['allow-frontend'] }],
    [
      'an address that may be of any Pod',
      { received: { peer: { external: { kind: 'unknown' } } } },
      { policies: ['allow-frontend'] },
    ],
    ['an ipBlock has the address of a Pod', { received: {} }, { policies: ['by-address'] }],
    [
      'an ipBlock has the address of a Pod, and Cilium denies',
      { received: { logger: 'hubble' } },
      { policies: ['by-address'] },
    ],
    ['an ipBlock has the address of a Pod in an exception', { received: {} }, { policies: ['by-address-except'] }],
    ['a port with a name is allowed, which this Pod does not have', { received: {} }, { policies: ['only-metrics'] }],
    [
      'an ipBlock has the address of a Pod, and Cilium denies, read by the sender',
      { sent: { logger: 'hubble' } },
      { policies: ['by-address'] },
    ],
    [
      'an ipBlock has the address of a Node, and GKE Dataplane V2 denies',
      { received: { logger: 'gke-policy-action', peer: { node: 'node-c' } } },
      { policies: ['by-address'] },
    ],
    [
      'an ipBlock has the address, and Cilium denies',
      { received: { logger: 'hubble', peer: 'external' } },
      { policies: ['by-address'] },
    ],
    [
      'DNS is denied',
      { received: { direction: 'sending', port: 53, protocol: 'UDP', peer: 'dns' } },
      { policies: ['no-egress'] },
    ],
    [
      'the DNS denies',
      { received: { direction: 'sending', port: 53, protocol: 'UDP', peer: 'dns' } },
      { policies: ['no-ingress-of-dns'] },
    ],
    [
      'DNS is admitted',
      { received: { direction: 'sending', port: 53, protocol: 'UDP', peer: 'dns' } },
      { policies: [] },
    ],
    [
      'the API server is denied',
      { received: { direction: 'sending', port: 443, peer: { external: { role: 'api-server' } } } },
      { policies: ['no-egress'] },
    ],
    [
      'a Node that has a HostEndpoint of Calico',
      { received: { direction: 'sending', peer: { node: 'node-c' } } },
      { policies: [{ HostEndpoint: { node: 'node-c' }, name: 'node-c-auto' }] },
    ],
    [
      "a Pod on its Node's network, where that has a HostEndpoint of Calico",
      { received: {} },
      {
        policies: [{ HostEndpoint: { node: 'node-a' }, name: 'node-a-auto' }, 'frontend-of-calico'],
        hostNetwork: true,
      },
    ],
    ["a probe of the Pod's Node", { received: { peer: { node: 'node-a' } } }, { policies: ['default-deny'] }],
    [
      'an answer of a connection that is denied',
      { received: { reply: true, direction: 'sending' } },
      { policies: ['default-deny'] },
    ],
    [
      'an answer of a connection that is admitted',
      { received: { reply: true, direction: 'sending' } },
      { policies: [] },
    ],
    ['a drop that the kernel tells of, and policies admit', { received: { logger: 'kernel-drop' } }, { policies: [] }],
    [
      'a drop that the kernel tells of, and a policy denies',
      { received: { logger: 'kernel-drop' } },
      { policies: ['default-deny'] },
    ],
    ['a rejected packet', { received: { verdict: 'rejected' } }, { policies: ['default-deny'] }],
    [
      'the log names the policy that isolates the Pod',
      { received: { policyName: 'allow-frontend' } },
      { policies: ['allow-frontend'] },
    ],
    [
      'the log names it cut off',
      { received: { policyName: 'allow-fr…' } },
      { policies: ['allow-frontend', 'lockdown'] },
    ],
    [
      'the log names it cut off, and two begin so',
      { received: { policyName: 'a…' } },
      { policies: ['allow-frontend', 'allow-worker'] },
    ],
    [
      'the log names a policy, and another one denies',
      { received: { policyName: 'postgres' } },
      { policies: ['allow-frontend'] },
    ],
    [
      'the log names a policy, and it admits the packet',
      { received: { policyName: 'allow-worker' } },
      { policies: ['allow-worker'] },
    ],
    [
      'the log names a policy that is not known',
      { received: { policyName: 'postgres' } },
      { policies: ['allow-worker'] },
    ],
    [
      'the log names a policy, and what another one says is unknown',
      { received: { policyName: 'postgres' } },
      { policies: ['unreadable'] },
    ],
    [
      'the log names a policy of the peer cut off',
      { sent: { policyName: 'allow-fr…' } },
      { policies: ['allow-frontend'] },
    ],
    [
      'a record without a prefix names the policy that isolates the Pod',
      { received: { ...byKubeOvn, policyName: 'allow-frontend' } },
      { policies: ['allow-frontend', 'unreadable-there', 'lockdown'] },
    ],
    [
      'such a record names a policy, and another one denies',
      { received: { ...byKubeOvn, policyName: 'postgres' } },
      { policies: ['allow-frontend'] },
    ],
  ],
};

const at = clock('10:15:10');
const policyOf = namedObjects(join(import.meta.dirname, 'policies.yaml'));
const [allowFrontend, defaultDeny, allowWorker, closedBatch, unreadable] = [
  'allow-frontend',
  'default-deny',
  'allow-worker',
  'secret-name',
  'unreadable',
].map(policyOf) as [object, object, object, object, object];

const pods: readonly PolicyPod[] = [
  pod(),
  pod({ namespace: 'batch', name: 'worker-7', labels: { app: 'worker' }, addresses: ['10.65.2.7'], node: 'node-b' }),
];

function known(
  policies: readonly object[],
  namespaces: readonly Namespace[] = [namespace('shop'), namespace('batch')],
  some = pods,
): KnownPolicies {
  return {
    pod: (ofNamespace, name) => some.find((each) => each.namespace === ofNamespace && each.name === name),
    namespace: (name) => namespaces.find((each) => each.name === name),
    trace: evaluator(policies, namespaces).trace,
  };
}

const denied: Partial<FlowDetails> = { enforcer: 'network-policy', prefix: 'calico-drop', peer: workerEnd(7) };

function dropped(details: Partial<FlowDetails> = {}, given: Partial<Finding> = {}): Finding {
  return finding({ regarding: podRef('postgres-0'), details: flow({ ...denied, ...details }), ...given });
}

/** Makes the finding of the other end, from which the worker's Event is made. */
function sent(details: Partial<FlowDetails> = {}): Finding {
  const peer = podEnd({ object: podRef('postgres-0'), address: '10.65.1.4' });
  return dropped(
    { direction: 'sending', peer, ownAddress: '10.65.2.7', ...details },
    { regarding: podRef('worker-7', 'batch') },
  );
}

const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns', address: '10.65.2.10' });

function detailsOf({ peer, policyName, ...given }: Given): Partial<FlowDetails> {
  const policy = { kind: 'NetworkPolicy', namespace: 'shop', name: policyName ?? '', tier: undefined };
  return {
    ...given,
    ...(peer === undefined ? {} : { peer: peerOf(peer) }),
    ...(policyName === undefined ? {} : { policy }),
  };
}

function peerOf(peer: Peer): Endpoint {
  if (typeof peer === 'string') return peer === 'dns' ? dns : externalEnd();
  return 'node' in peer ? nodeEnd(peer.node) : externalEnd(peer.external);
}

function knownOf({ policies, namespaces = ['shop', 'batch'], isPeerKnown = true, hostNetwork = false }: Known) {
  const objects = policies.flatMap((each) => (typeof each === 'string' ? policyOf(each) : shortObjects(each)));
  const named = namespaces.map((name) =>
    name === 'redacted batch' ? namespace('batch', { 'kube-netfilter-tailer/audit': 'redacted' }) : namespace(name),
  );
  return known(objects, named, [pod({ hostNetwork }), ...(isPeerKnown ? pods.slice(1) : [])]);
}

const cases = tables.cases.map(([title, { received, sent: ofSender }, objects]) => {
  const made = ofSender === undefined ? dropped(detailsOf(received ?? {})) : sent(detailsOf(ofSender));
  return [title, made, knownOf(objects)] as const;
});

test.each<[string, Given, Known]>([
  ['admits the packet', { ...byKubeOvn, policyName: 'allow-worker' }, { policies: ['allow-worker'] }],
  ['cannot be evaluated', { ...byKubeOvn, policyName: 'unreadable' }, { policies: ['unreadable'] }],
  [
    'may be of another kind',
    { ...byKubeOvn, byNetworkPolicies: undefined, policyName: 'allow-frontend' },
    { policies: ['allow-frontend'] },
  ],
])('a record without a prefix decides alone if the policy that it names %s', (_, given, objects) => {
  expect(policyVerdict(dropped(detailsOf(given)), knownOf(objects), at)).toBeUndefined();
});

test('an Event names policies in the expected words', async () => {
  const lines = cases.map(([title, each, objects]) => {
    const answer = policyVerdict(each, objects, at);
    const own = { namespace: each.regarding.namespace ?? '', node: each.node };
    return `${title}: ${answer?.outcome} [${answer?.policy?.name ?? ''}] ${adviseOn(each.details as FlowDetails, own, answer)}`;
  });
  await expectLines(import.meta.dirname, 'policy-verdict.expected.txt', lines);
});

test.each<[string, Partial<FlowDetails>]>([
  ['a host firewall dropped it', { enforcer: 'host-firewall' }],
  ['the prefix does not say what dropped it', { enforcer: 'unknown' }],
  [
    'a record names the policy',
    { prefix: '', policy: { kind: undefined, namespace: 'shop', name: 'x', tier: undefined } },
  ],
  ['a martian', { martian: true }],
  ['the Pod used an address that is not its own', { ownAddressIsForeign: true }],
  ['the peer used an address that is not its own', { peer: podEnd({ note: 'not its own address' }) }],
  ['the address of a Service', { peer: serviceEnd() }],
  ['a peer without an address', { peer: externalEnd({ address: 'NetworkSet shop/partners' }) }],
  ['the protocol is missing', { protocol: '' }],
  ['a ClusterNetworkPolicy of AWS denied it', { prefix: '', clusterTier: 'Admin' }],
  ['an ICMP error', { error: { reporter: externalEnd(), protocol: 'ICMP', type: 3, code: 1, mtu: undefined } }],
])('policies are not evaluated: %s', (_, details) => {
  expect(policyNeeds(dropped(details))).toBeUndefined();
  expect(policyVerdict(dropped(details), known([defaultDeny]), at)).toBeUndefined();
});

test('policies are not evaluated if the Pod is not known', () => {
  expect(policyVerdict(dropped(), known([defaultDeny], [], []), at)).toBeUndefined();
});

test('both Pods and their Namespaces are read; for an address outside the cluster, only those of the Pod', () => {
  expect(policyNeeds(dropped())).toMatchObject({
    pods: [{ name: 'postgres-0' }, { name: 'worker-7' }],
    namespaces: ['shop', 'batch'],
  });
  expect(policyNeeds(dropped({ peer: externalEnd() }))).toMatchObject({
    pods: [{ name: 'postgres-0' }],
    namespaces: ['shop'],
  });
});

test('a Pod that has completed since still had its address when the packet was dropped', () => {
  const completed = [pod({ completed: true })];
  expect(policyVerdict(dropped(), known([defaultDeny], undefined, completed), at)?.outcome).toBe('denies');
});

const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 2000 });

test('a message has one line of at most 1,024 bytes and no markup, whatever the names of policies and labels', () => {
  forAll([names, names, names, fc.boolean()], {}, (name, key, value, isSent) => {
    const from = [{ podSelector: { matchLabels: { [key]: value } } }];
    const policy = networkPolicy({ podSelector: {}, ingress: [{ from }] }, name);
    const labelled = [pod(), pod({ namespace: 'batch', name: 'worker-7', labels: { [key]: `${value}x` } })];
    const given = isSent ? sent() : dropped();
    const answer = policyVerdict(given, known([policy], undefined, labelled), at);
    expect(answer?.outcome).toBe('denies');
    const message = messageOf(series({ finding: given }), { answer });
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(1024);
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<]|:\/\//u);
  });
});

test('no policy of another Namespace is named, whatever its verdict', () => {
  const hidden = ['allow-frontend', 'default-deny', 'allow-worker', 'secret-name', 'frontend'];
  for (const policies of [[allowFrontend], [defaultDeny], [allowWorker], [unreadable], [allowFrontend, closedBatch]])
    for (const refusedBy of ['receiver', undefined] as const)
      for (const reply of [false, true]) {
        const text = policyVerdict(sent({ refusedBy, reply }), known(policies), at)?.text ?? '';
        const own = policies.includes(closedBatch) ? ['secret-name'] : [];
        expect(hidden.filter((name) => text.includes(name) && !own.includes(name))).toStrictEqual([]);
      }
});

const example = flow({ ...denied, port: 5432 });
const asked = (of: ScanDetails['of'], ...ports: string[]): unknown => {
  const { details } = askedOf({
    finding: dropped({}, { details: { kind: 'scan', of, example } }),
    ports: { seen: ports, past: 0 },
  });
  return details;
};

test('policies are evaluated for the first packet of a scan that tries a Pod on one port', () => {
  expect(asked('target', '5432/TCP')).toBe(example);
});

test('policies are evaluated for no packet of a scan of several ports or several Pods', () => {
  expect(asked('target', '5432/TCP', '80/TCP')).toMatchObject({ kind: 'scan' });
  expect(asked('scanner', '5432/TCP')).toMatchObject({ kind: 'scan' });
});

test.each([
  ['is denied by its policies', defaultDeny, ['ingress']],
  ['is admitted by its policies', allowWorker, ['ingress', 'egress']],
] as const)('policies are evaluated for a packet that %s', (what, policy, directions) => {
  const objects = known([policy, closedBatch]);
  const traced: string[] = [];
  const trace: KnownPolicies['trace'] = (given, direction) => {
    traced.push(direction);
    return objects.trace(given, direction);
  };
  const answer = policyVerdict(dropped({ refusedBy: undefined }), { ...objects, trace }, at);
  expect([answer?.isOwn, traced]).toEqual([what.includes('denied'), directions]);
});
