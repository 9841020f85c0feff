import { expect, test } from 'vitest';
import { adviseOn } from '../../../src/explain/drops/advice.ts';
import { kernelReasons, reasons } from '../../../src/explain/drops/reasons.ts';
import type { Endpoint } from '../../../src/base/model/endpoint.ts';
import type { FlowDetails } from '../../../src/base/model/finding.ts';
import type { PolicyName } from '../../../src/base/model/packet.ts';
import { externalEnd, flow, nodeEnd, podEnd, podRef, serviceEnd, workerEnd } from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { ofPolicies: Row[]; drops: Row[] };

const own = { namespace: 'shop', node: nodeEnd().object?.name ?? '' };
const advice = (given: Partial<FlowDetails>): string => adviseOn(flow(given), own);

const dns = podEnd({ object: podRef('coredns', 'kube-system'), role: 'dns' });
const denied = { enforcer: 'network-policy' } as const;
const shown = { ...denied, refusedBy: 'receiver' } as const;

type EndRow =
  | 'dns'
  | 'node'
  | 'external'
  | 'worker'
  | { external: Partial<Endpoint> }
  | { service: Partial<Endpoint> }
  | { worker: string; note: string }
  | { pod: string; note?: string };
type ErrorRow = Omit<NonNullable<FlowDetails['error']>, 'reporter'> & { reporter?: EndRow };
type Row = [name: string, Omit<Partial<FlowDetails>, 'peer' | 'error'> & { peer?: EndRow; error?: ErrorRow }];
type Case = readonly [name: string, Partial<FlowDetails>];

function endOf(given: EndRow): Endpoint {
  if (typeof given === 'string') return { dns, node: nodeEnd(), external: externalEnd(), worker: workerEnd(1) }[given];
  if ('external' in given) return externalEnd(given.external);
  if ('service' in given) return serviceEnd(given.service);
  if ('worker' in given) return { ...workerEnd(1, given.worker), note: given.note };
  return podEnd({ ...given, object: podRef(given.pod) });
}

/** A router reports an error, unless a row says who else. */
function caseOf([name, { peer, error, ...given }]: Row): Case {
  const ofPeer = peer === undefined ? {} : { peer: endOf(peer) };
  const reporter = endOf(error?.reporter ?? { external: { address: '198.51.100.1' } });
  return [name, { ...given, ...ofPeer, ...(error === undefined ? {} : { error: { ...error, reporter } }) }];
}

/** The rule behind a LOG rule is not known, so the advice on a policy that is known by its prefix alone is what to check. */
const cases: readonly Case[] = [
  ...tables.drops.map(caseOf),
  ...tables.ofPolicies.map(caseOf).flatMap(([name, given]): Case[] => [
    [`policy, ${name}`, { ...denied, ...given }],
    [`policy by its prefix alone, ${name}`, { ...denied, prefix: 'calico-drop:', ...given }],
  ]),
  ...[...reasons.keys(), 'reason 231', ...kernelReasons.keys()].map((dropReason): Case => [
    `no rule, ${dropReason}`,
    { dropReason },
  ]),
];

test('each case has the expected advice', async () => {
  const lines = cases.map(([name, given]) => `${name}: ${advice(given) || '(nothing)'}`);
  await expectLines(import.meta.dirname, 'advice.expected.txt', lines);
});

const policyNamed = (name: string, kind?: string, namespace?: string): PolicyName => {
  return { kind, namespace, name, tier: undefined };
};

test.each<[PolicyName, string]>([
  [policyNamed('deny', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  [policyNamed('deny', undefined, 'shop'), 'kubectl -n shop describe networkpolicy deny'],
  // The log prefix was too short for all of the name.
  [policyNamed('den…', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy'],
  [policyNamed('deny', 'GlobalNetworkPolicy'), 'calicoctl get globalnetworkpolicy deny -o yaml'],
  [policyNamed('deny', 'NetworkPolicy.projectcalico.org', 'shop'), 'calicoctl get networkpolicy deny -n shop -o yaml'],
  [policyNamed('deny', 'ClusterNetworkPolicy'), 'kubectl get clusternetworkpolicy deny -o yaml'],
  [
    policyNamed('deny', 'AntreaNetworkPolicy', 'shop'),
    'kubectl -n shop get networkpolicies.crd.antrea.io deny -o yaml',
  ],
  [policyNamed('deny', 'AntreaClusterNetworkPolicy'), 'kubectl get clusternetworkpolicies.crd.antrea.io deny -o yaml'],
  // Logs are written by strangers, and commands are pasted.
  [policyNamed('$(reboot)', 'NetworkPolicy', 'shop'), 'kubectl -n shop describe networkpolicy'],
])('a policy with a name is shown: %j', (policy, command) => {
  const commands = advice({ ...shown, policy }).split(': ');
  expect(commands.at(-1)).toBe(command);
});

test.each<PolicyName>([
  { kind: 'NetworkPolicy', namespace: ';reboot;', name: 'deny', tier: undefined },
  { kind: undefined, namespace: undefined, name: 'np/web.shop/ingress', tier: undefined },
  { kind: '$(reboot)', namespace: 'shop', name: 'deny', tier: undefined },
])('a policy that cannot be asked for is not shown: %j', (policy) => {
  expect(advice({ ...shown, policy })).toBe(advice(shown));
});

const admits = {
  outcome: 'admits',
  text: 'Policies admit this.',
  act: 'Ask.',
  policy: undefined,
  isOwn: true,
} as const;
const ofAws = { ...denied, logger: 'aws-network-policy-agent', refusedBy: 'sender' } as const;

test.each<[string, Partial<FlowDetails>]>([
  ['a Pod', {}],
  ['the cluster DNS', { direction: 'sending', peer: dns, port: 53 }],
  ['the API server', { direction: 'sending', peer: serviceEnd({ role: 'api-server' }) }],
])('where policies admit egress to %s that the agent of AWS calls denied, its known fault is named', (_, given) => {
  expect(adviseOn(flow({ ...ofAws, ...given }), own, admits)).toMatch(/Policies admit this\. .*#582\.$/);
});

test.each<[string, Partial<FlowDetails>, 'admits' | 'denies']>([
  ['ingress', { ...ofAws, refusedBy: 'receiver' }, 'admits'],
  ['egress that policies deny', ofAws, 'denies'],
  ['another logger', { ...ofAws, logger: 'netfilter' }, 'admits'],
])('the fault of the agent of AWS is not named for %s', (_, given, outcome) => {
  expect(adviseOn(flow(given), own, { ...admits, outcome })).toBe('Policies admit this. Ask.');
});
