import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { adviseOn } from '../../src/drops/advice.ts';
import { askedOf, type KnownPolicies, policyNeeds } from '../../src/drops/policy-trace.ts';
import { policyVerdict } from '../../src/drops/policy-verdict.ts';
import type { Finding, FlowDetails, ScanDetails } from '../../src/model/finding.ts';
import type { Namespace, Pod } from '../../src/policies/policies.ts';
import { messageOf } from '../../src/pipeline/message.ts';
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
} from '../builders.ts';
import { expectLines } from '../expected-file.ts';
import { calico, evaluator, namedObjects, namespace, networkPolicy, pod } from '../policies/objects.ts';
import { forAll } from '../for-all.ts';

const at = clock('10:15:10');
const policyOf = namedObjects(join(import.meta.dirname, 'policies.yaml'));
const [allowFrontend, defaultDeny, allowWorker, closedBatch, lockdown, unreadable] = [
  'allow-frontend',
  'default-deny',
  'allow-worker',
  'secret-name',
  'lockdown',
  'unreadable',
].map(policyOf) as [object, object, object, object, object, object];
const closedByCalico = policyOf('frontend-of-calico');
const closedByCilium = policyOf('frontend-of-cilium');

const pods: readonly Pod[] = [
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

const cases: readonly (readonly [string, Finding, KnownPolicies])[] = [
  ['policies of the Pod deny', dropped(), known([allowFrontend, defaultDeny])],
  ['a policy that changed four seconds before admits', dropped(), known([allowFrontend, allowWorker])],
  ['policies of neither end select the Pods', dropped(), known([])],
  ['its own policies admit, and those of a peer in another Namespace deny', dropped(), known([closedBatch])],
  ['the sender reads of what the receiver denies', sent(), known([allowFrontend, defaultDeny])],
  ['the sender reads of what a policy of the receiver admits', sent({ refusedBy: 'receiver' }), known([allowWorker])],
  ['the sender reads of a policy of the whole cluster', sent({ refusedBy: 'receiver' }), known([lockdown])],
  ['a policy of the receiver that cannot be evaluated', sent(), known([unreadable])],
  ['a policy of the Pod that cannot be evaluated', dropped(), known([unreadable])],
  [
    'a policy of the peer that cannot be evaluated',
    dropped({ refusedBy: 'sender' }),
    known([policyOf('unreadable-there')]),
  ],
  ['a policy of the whole cluster denies', dropped({ refusedBy: 'receiver' }), known([lockdown])],
  ['the labels of the peer are not known', dropped(), known([allowFrontend], undefined, pods.slice(0, 1))],
  [
    'the Namespace of the peer asked not to be named',
    dropped(),
    known([allowFrontend], [namespace('shop'), namespace('batch', { 'kube-netfilter-tailer/audit': 'redacted' })]),
  ],
  ['a policy of Calico denies', dropped(), known([closedByCalico])],
  [
    'a policy of Calico denies, and the Namespace of the peer asked not to be named',
    dropped(),
    known([closedByCalico], [namespace('shop'), namespace('batch', { 'kube-netfilter-tailer/audit': 'redacted' })]),
  ],
  ['a policy of Cilium denies', dropped(), known([closedByCilium])],
  [
    'a policy of Cilium denies, and the Namespace of the peer asked not to be named',
    dropped(),
    known([closedByCilium], [namespace('shop'), namespace('batch', { 'kube-netfilter-tailer/audit': 'redacted' })]),
  ],
  ['the sender reads of what policies of Cilium deny', sent(), known([closedByCilium])],
  ['the Namespace of the peer is not known', dropped(), known([allowFrontend], [namespace('shop')])],
  ['the peer is outside the cluster', dropped({ peer: externalEnd() }), known([allowFrontend])],
  ['an address that may be of any Pod', dropped({ peer: externalEnd({ kind: 'unknown' }) }), known([allowFrontend])],
  ['DNS is denied', dropped({ direction: 'sending', port: 53, protocol: 'UDP', peer: dns() }), known([egress()])],
  ['DNS is admitted', dropped({ direction: 'sending', port: 53, protocol: 'UDP', peer: dns() }), known([])],
  [
    'the API server is denied',
    dropped({ direction: 'sending', port: 443, peer: externalEnd({ role: 'api-server' }) }),
    known([egress()]),
  ],
  [
    'a Node that has a HostEndpoint of Calico',
    dropped({ direction: 'sending', peer: nodeEnd('node-c') }),
    known([calico('HostEndpoint', { node: 'node-c' }, 'node-c-auto')]),
  ],
  [
    "a Pod on its Node's network, where that has a HostEndpoint of Calico",
    dropped(),
    known([calico('HostEndpoint', { node: 'node-a' }, 'node-a-auto'), closedByCalico], undefined, [
      pod({ hostNetwork: true }),
      ...pods.slice(1),
    ]),
  ],
  ["a probe of the Pod's Node", dropped({ peer: nodeEnd('node-a') }), known([defaultDeny])],
  ['an answer of a connection that is denied', dropped({ reply: true, direction: 'sending' }), known([defaultDeny])],
  ['an answer of a connection that is admitted', dropped({ reply: true, direction: 'sending' }), known([])],
  ['a drop that the kernel tells of, and policies admit', dropped({ logger: 'kernel-drop' }), known([])],
  ['a drop that the kernel tells of, and a policy denies', dropped({ logger: 'kernel-drop' }), known([defaultDeny])],
  ['a rejected packet', dropped({ verdict: 'rejected' }), known([defaultDeny])],
  ['the log names the policy that isolates the Pod', dropped(named('allow-frontend')), known([allowFrontend])],
  ['the log names it cut off', dropped(named('allow-fr…')), known([allowFrontend, lockdown])],
  ['the log names it cut off, and two begin so', dropped(named('a…')), known([allowFrontend, allowWorker])],
  ['the log names a policy, and another one denies', dropped(named('postgres')), known([allowFrontend])],
  ['the log names a policy, and it admits the packet', dropped(named('allow-worker')), known([allowWorker])],
  ['the log names a policy that is not known', dropped(named('postgres')), known([allowWorker])],
  ['the log names a policy, and what another one says is unknown', dropped(named('postgres')), known([unreadable])],
  ['the log names a policy of the peer cut off', sent({ ...named('allow-fr…') }), known([allowFrontend])],
];

function named(name: string): Partial<FlowDetails> {
  return { policy: { kind: 'NetworkPolicy', namespace: 'shop', name, tier: undefined } };
}

function egress(): object {
  return networkPolicy({ podSelector: {}, policyTypes: ['Egress'] }, 'no-egress');
}

function dns() {
  return podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns', address: '10.65.2.10' });
}

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
])('policies have no part: %s', (_, details) => {
  expect(policyNeeds(dropped(details))).toBeUndefined();
  expect(policyVerdict(dropped(details), known([defaultDeny]), at)).toBeUndefined();
});

test('policies have no part: the Pod is not known', () => {
  expect(policyVerdict(dropped(), known([defaultDeny], [], []), at)).toBeUndefined();
});

test('both Pods and their Namespaces are needed, of an address outside the cluster only those of the Pod', () => {
  expect(policyNeeds(dropped())).toMatchObject({
    pods: [{ name: 'postgres-0' }, { name: 'worker-7' }],
    namespaces: ['shop', 'batch'],
  });
  expect(policyNeeds(dropped({ peer: externalEnd() }))).toMatchObject({
    pods: [{ name: 'postgres-0' }],
    namespaces: ['shop'],
  });
});

test('a Pod that has completed since had its address when the packet was dropped', () => {
  const completed = [pod({ completed: true })];
  expect(policyVerdict(dropped(), known([defaultDeny], undefined, completed), at)?.outcome).toBe('denies');
});

const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 2000 });

test('a message has one line of at most 1,024 bytes and no markup, whatever policies and labels are called', () => {
  forAll([names, names, names, fc.boolean()])((name, key, value, isSent) => {
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

test('no policy of another Namespace is named, whatever it decides', () => {
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

test('policies are asked about the first packet of a scan that tries a Pod on one port', () => {
  expect(asked('target', '5432/TCP')).toBe(example);
});

test('policies are asked about no packet of a scan of several ports or several Pods', () => {
  expect(asked('target', '5432/TCP', '80/TCP')).toMatchObject({ kind: 'scan' });
  expect(asked('scanner', '5432/TCP')).toMatchObject({ kind: 'scan' });
});
