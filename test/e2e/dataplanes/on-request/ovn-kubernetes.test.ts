import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { networkPolicy } from '../../../explain/policies/objects.ts';
import { outcomeOf } from '../../outcome.ts';
import { builtCheckout, ovnKubernetes } from '../ovn-controllers.ts';
import { type OvnCase, type OvnScene, startOvnScene } from '../ovn-scene.ts';

/**
 * A real OVN-Kubernetes makes ACLs of policies, by which a real OVN denies real packets, and an agent reads what ovn-controller logs.
 * OVN_KUBERNETES has to be a checkout of OVN-Kubernetes with ovnkube and schemas of OVN in its folder `bin` (../README.md).
 */
const checkout = builtCheckout('OVN_KUBERNETES', 'OVN-Kubernetes', 'ovnkube');

const shop = 'ovnk-shop';
const outside = '203.0.113.9';
const logging = { 'k8s.ovn.org/acl-logging': '{"deny": "info"}' };

const cases: readonly [OvnCase, ...OvnCase[]] = [
  {
    title: 'a NetworkPolicy, ingress, TCP',
    from: 'web',
    to: 'db',
    verdict: `Denied by NetworkPolicy ${shop}/only-frontend: ingress[0] allows only Pods app=frontend`,
    decidedBy: `NetworkPolicy ${shop}/only-frontend`,
    protocol: 'tcp',
    family: 0,
    acl: `NP:${shop}:Ingress`,
  },
  {
    title: 'a NetworkPolicy, egress, UDP over IPv6',
    from: 'locked',
    to: 'open',
    verdict: `Denied by NetworkPolicy ${shop}/no-egress`,
    decidedBy: `NetworkPolicy ${shop}/no-egress`,
    protocol: 'udp',
    family: 1,
    acl: `NP:${shop}:Egress`,
  },
  {
    title: 'an AdminNetworkPolicy, ingress, UDP',
    from: 'web',
    to: 'sealed',
    verdict: 'Denied by AdminNetworkPolicy lockdown',
    decidedBy: 'AdminNetworkPolicy lockdown',
    protocol: 'udp',
    family: 0,
    acl: 'ANP:lockdown:Ingress:0',
  },
  {
    title: 'the BaselineAdminNetworkPolicy, egress, TCP over IPv6',
    from: 'basic',
    to: 'open',
    verdict: 'Denied by BaselineAdminNetworkPolicy default',
    decidedBy: 'BaselineAdminNetworkPolicy default',
    protocol: 'tcp',
    family: 1,
    acl: 'BANP:default:Egress:0',
  },
  {
    title: 'an EgressFirewall, TCP to an address outside',
    from: 'web',
    to: outside,
    verdict: `Denied by EgressFirewall ${shop}/default`,
    decidedBy: `EgressFirewall ${shop}/default`,
    protocol: 'tcp',
    family: 0,
    acl: `EF:${shop}:0`,
  },
];

describe.skipIf(checkout === undefined)('a real OVN-Kubernetes', () => {
  const ending: (() => unknown)[] = [];
  let scene: OvnScene;

  beforeAll(async () => {
    scene = await startOvnScene({
      project: ovnKubernetes,
      checkout: checkout ?? '',
      namespace: shop,
      annotations: logging,
      pods: ['web', 'db', 'locked', 'open', 'sealed', 'basic'],
      policies: policies(),
      cases,
      ending,
    });
  }, 900_000);
  afterAll(async () => {
    for (const each of ending.splice(0)) await each();
  });

  test.each(cases)('$title', (each) => scene.untilTold(each));

  test('doctor finds nothing to mend', async () => {
    const checks = await scene.reading.doctor((command, args) => outcomeOf(spawn(command, args)));
    expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
  });
});

function policies(): object[] {
  const subject = (name: string): object => ({
    pods: { namespaceSelector: {}, podSelector: app(name) },
  });
  const all = [{ namespaces: {} }];
  return [
    networkPolicy(
      { podSelector: app('db'), ingress: [{ from: [{ podSelector: app('frontend') }], ports: [{ port: 5432 }] }] },
      'only-frontend',
      shop,
    ),
    networkPolicy({ podSelector: app('locked'), policyTypes: ['Egress'] }, 'no-egress', shop),
    {
      apiVersion: 'policy.networking.k8s.io/v1alpha1',
      kind: 'AdminNetworkPolicy',
      metadata: { name: 'lockdown', annotations: logging },
      spec: { priority: 7, subject: subject('sealed'), ingress: [{ action: 'Deny', from: all }] },
    },
    {
      apiVersion: 'policy.networking.k8s.io/v1alpha1',
      kind: 'BaselineAdminNetworkPolicy',
      metadata: { name: 'default', annotations: logging },
      spec: { subject: subject('basic'), egress: [{ action: 'Deny', to: all }] },
    },
    {
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'EgressFirewall',
      metadata: { namespace: shop, name: 'default' },
      spec: { egress: [{ type: 'Deny', to: { cidrSelector: `${outside}/32` } }] },
    },
  ];
}

function app(name: string): object {
  return { matchLabels: { app: name } };
}
