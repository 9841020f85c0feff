import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { outcomeOf } from '../../outcome.ts';
import { builtCheckout, kubeOvn } from '../ovn-controllers.ts';
import { type OvnCase, type OvnScene, startOvnScene } from '../ovn-scene.ts';

/**
 * A real Kube-OVN makes ACLs of policies, by which a real OVN denies real packets, and an agent reads what ovn-controller logs.
 * KUBE_OVN has to be a checkout of Kube-OVN with kube-ovn-controller and schemas of OVN in its folder `bin` (../README.md).
 */
const checkout = builtCheckout('KUBE_OVN', 'Kube-OVN', 'kube-ovn-controller');

const shop = 'kube-ovn-shop';
const logging = { 'ovn.kubernetes.io/enable_log': 'true' };
const closed = {
  apiVersion: 'kubeovn.io/v1',
  kind: 'Subnet',
  metadata: { name: 'closed' },
  spec: { protocol: 'Dual', cidrBlock: '10.74.0.0/16,fd00:74::/112', private: true },
};
const loggingOfActions = { 'ovn.kubernetes.io/log_acl_actions': 'drop' };

const cases: readonly [OvnCase, ...OvnCase[]] = [
  {
    title: 'a NetworkPolicy, ingress, TCP',
    from: 'web',
    to: 'db',
    verdict: `Denied by NetworkPolicy ${shop}/only-frontend: ingress[0] allows only Pods app=frontend`,
    decidedBy: `NetworkPolicy ${shop}/only-frontend`,
    protocol: 'tcp',
    family: 0,
    acl: `${shop}/only-frontend`,
  },
  {
    title: 'a NetworkPolicy, egress, UDP over IPv6',
    from: 'locked',
    to: 'open',
    verdict: `Denied by NetworkPolicy ${shop}/no-egress (no egress rules)`,
    decidedBy: `NetworkPolicy ${shop}/no-egress`,
    protocol: 'udp',
    family: 1,
    acl: `${shop}/no-egress`,
  },
  {
    title: 'an AdminNetworkPolicy, ingress, UDP',
    from: 'web',
    to: 'sealed',
    verdict: 'Denied by AdminNetworkPolicy lockdown',
    decidedBy: 'AdminNetworkPolicy lockdown',
    protocol: 'udp',
    family: 0,
    acl: 'anp/lockdown/ingress/IPv4/0',
  },
  {
    title: 'the BaselineAdminNetworkPolicy, egress, TCP over IPv6',
    from: 'basic',
    to: 'open',
    verdict: 'Denied by BaselineAdminNetworkPolicy default',
    decidedBy: 'BaselineAdminNetworkPolicy default',
    protocol: 'tcp',
    family: 1,
    acl: 'banp/default/egress/IPv6/0',
  },
  {
    title: 'a ClusterNetworkPolicy, ingress, TCP',
    from: 'web',
    to: 'tenant',
    verdict: 'Denied by ClusterNetworkPolicy tenants',
    decidedBy: 'ClusterNetworkPolicy tenants',
    protocol: 'tcp',
    family: 0,
    acl: 'cnp/tenants/ingress/IPv4/0',
  },
  {
    title: 'a private Subnet, UDP over IPv6',
    from: 'web',
    to: 'hidden',
    verdict: 'Denied by Subnet closed',
    decidedBy: 'Subnet closed',
    protocol: 'udp',
    family: 1,
    acl: 'closed',
  },
];

describe.skipIf(checkout === undefined)('a real Kube-OVN', () => {
  const ending: (() => unknown)[] = [];
  let scene: OvnScene;

  beforeAll(async () => {
    scene = await startOvnScene({
      project: kubeOvn,
      checkout: checkout ?? '',
      namespace: shop,
      pods: [
        'web',
        'db',
        'locked',
        'open',
        'sealed',
        'basic',
        'tenant',
        { name: 'hidden', annotations: { 'ovn.kubernetes.io/logical_switch': 'closed' } },
      ],
      objects: [closed],
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

/** A NetworkPolicy that Kube-OVN logs. */
function logged(name: string, spec: object): object {
  const metadata = { namespace: shop, name, annotations: logging };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
}

function policies(): object[] {
  const subject = (name: string): object => ({ pods: { namespaceSelector: {}, podSelector: app(name) } });
  const all = [{ namespaces: {} }];
  return [
    logged('only-frontend', {
      podSelector: app('db'),
      ingress: [{ from: [{ podSelector: app('frontend') }], ports: [{ port: 5432 }] }],
    }),
    logged('no-egress', { podSelector: app('locked'), policyTypes: ['Egress'] }),
    {
      apiVersion: 'policy.networking.k8s.io/v1alpha1',
      kind: 'AdminNetworkPolicy',
      metadata: { name: 'lockdown', annotations: loggingOfActions },
      spec: { priority: 7, subject: subject('sealed'), ingress: [{ action: 'Deny', from: all }] },
    },
    {
      apiVersion: 'policy.networking.k8s.io/v1alpha1',
      kind: 'BaselineAdminNetworkPolicy',
      metadata: { name: 'default', annotations: loggingOfActions },
      spec: { subject: subject('basic'), egress: [{ action: 'Deny', to: all }] },
    },
    {
      apiVersion: 'policy.networking.k8s.io/v1alpha2',
      kind: 'ClusterNetworkPolicy',
      metadata: { name: 'tenants', annotations: loggingOfActions },
      spec: { tier: 'Admin', priority: 8, subject: subject('tenant'), ingress: [{ action: 'Deny', from: all }] },
    },
  ];
}

function app(name: string): object {
  return { matchLabels: { app: name } };
}
