import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { replay } from '../../src/cli/replay/replay.ts';
import { parsed } from '../cli/parsed.ts';
import { forAllAsync } from '../for-all.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

/*
 * Users who may read the Namespace `curious` may write policies in it. Whatever a log line or a policy names of the
 * Namespace `shop`, which has opted out of descriptions, no Event of `curious` contains it: each such name and value
 * has the word `secret`.
 */

const numRuns = process.env['FUZZ'] === undefined ? 60 : 2000;
const folder = temporaryFolder();
const metadata = (name: string, namespace?: string, labels: Record<string, string> = {}): object => ({
  metadata: { name, namespace, labels, uid: `${namespace ?? ''}-${name}` },
});

const secretPort = 54_321;

const pod = (namespace: string, name: string, ip: string, serviceAccountName: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...metadata(name, namespace, { app: namespace === 'shop' ? 'secret-label' : 'probe' }),
  spec: {
    nodeName: 'node-b',
    serviceAccountName,
    containers: [{ ports: namespace === 'shop' ? [{ name: 'admin', containerPort: secretPort }] : [] }],
  },
  status: { phase: 'Running', podIPs: [{ ip }], startTime: '2026-11-21T08:00:00Z' },
});

const cluster = [
  {
    apiVersion: 'v1',
    kind: 'Node',
    ...metadata('node-b'),
    spec: { podCIDR: '10.9.0.0/16' },
    status: { addresses: [{ type: 'InternalIP', address: '192.168.0.2' }] },
  },
  pod('curious', 'probe-0', '10.9.0.1', 'default'),
  pod('shop', 'web-0', '10.9.1.1', 'secret-account'),
  { apiVersion: 'v1', kind: 'Namespace', ...metadata('curious') },
  {
    apiVersion: 'v1',
    kind: 'Namespace',
    ...metadata('shop', undefined, { 'kube-netfilter-tailer/audit': 'redacted', cost: 'secret-cost' }),
  },
  {
    apiVersion: 'projectcalico.org/v3',
    kind: 'NetworkSet',
    ...metadata('secret-set', 'shop', { contract: 'secret-contract' }),
    spec: { nets: ['203.0.113.80/32'] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    ...metadata('db-x', 'shop', { 'kubernetes.io/service-name': 'db' }),
    addressType: 'IPv4',
    ports: [{ port: 5432, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.9.1.1'] }],
  },
  {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    ...metadata('secret-policy', 'shop'),
    spec: { podSelector: { matchLabels: { app: 'secret-label' } }, ingress: [] },
  },
];

const account = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  ...metadata('secret-account', 'shop', { team: 'secret-team' }),
};

const selectors = fc.constantFrom(
  "contract == 'x'",
  "app == 'x'",
  'has(none)',
  "pcsa.team == 'x'",
  "pcns.cost == 'x'",
  '!has(contract)',
  "projectcalico.org/serviceaccount == 'x'",
  "projectcalico.org/namespace == 'x'",
  "contract contains 'z'",
);

const entities = fc.oneof(
  selectors.map((selector) => ({ selector, namespaceSelector: 'all()' })),
  selectors.map((notSelector) => ({ selector: 'all()', notSelector, namespaceSelector: "pcns.cost != 'x' && all()" })),
  fc
    .constantFrom("team == 'x'", 'all()')
    .map((selector) => ({ serviceAccounts: { selector }, namespaceSelector: 'all()' })),
  fc.constant({ serviceAccounts: { names: ['x'] }, namespaceSelector: "cost == 'x'" }),
);

const labels = fc.constantFrom({ app: 'x' }, { none: 'x' }, { cost: 'x' });
const ciliumLabels = fc.constantFrom(
  { app: 'x', 'io.kubernetes.pod.namespace': 'shop' },
  { 'io.cilium.k8s.policy.serviceaccount': 'x', 'io.kubernetes.pod.namespace': 'shop' },
  { 'io.cilium.k8s.namespace.labels.cost': 'x' },
);

const probe = (apiVersion: string, kind: string, spec: object): object => ({
  apiVersion,
  kind,
  ...metadata('probe', 'curious'),
  spec,
});

/** Policies of the curious Namespace, which try to learn facts about others. */
const policies = fc.oneof(
  entities.map((destination) =>
    probe('projectcalico.org/v3', 'NetworkPolicy', {
      order: 1,
      selector: 'all()',
      types: ['Egress'],
      egress: [{ action: 'Allow', destination }],
    }),
  ),
  entities.map((source) =>
    probe('projectcalico.org/v3', 'NetworkPolicy', {
      order: 1,
      selector: 'all()',
      types: ['Ingress'],
      ingress: [{ action: 'Allow', source }],
    }),
  ),
  fc.tuple(labels, labels).map(([ofPod, ofNamespace]) => {
    const peer = { podSelector: { matchLabels: ofPod }, namespaceSelector: { matchLabels: ofNamespace } };
    const spec = {
      podSelector: {},
      policyTypes: ['Egress', 'Ingress'],
      egress: [{ to: [peer] }],
      ingress: [{ from: [peer] }],
    };
    return probe('networking.k8s.io/v1', 'NetworkPolicy', spec);
  }),
  ciliumLabels.map((matchLabels) =>
    probe('cilium.io/v2', 'CiliumNetworkPolicy', {
      endpointSelector: {},
      egress: [{ toEndpoints: [{ matchLabels }] }],
      ingress: [{ fromEndpoints: [{ matchLabels }] }],
    }),
  ),
);

const [ours, theirs, outside] = ['10.9.0.1', '10.9.1.1', '203.0.113.80'];

function kernelLine(prefix: string, source: string, destination: string): string {
  return `Nov 21 09:00:00 node-b kernel: [ 100.5] ${prefix}IN=eth0 OUT=eth1 SRC=${source} DST=${destination} LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=1 DF PROTO=TCP SPT=40000 DPT=443 WINDOW=64860 RES=0x00 SYN URGP=0`;
}

function ciliumLine(source: string, destination: string): string {
  const denied = [{ name: 'secret-policy', namespace: 'shop', kind: 'CiliumNetworkPolicy' }];
  return JSON.stringify({
    flow: {
      time: '2026-11-21T09:00:00Z',
      verdict: 'DROPPED',
      drop_reason_desc: 'POLICY_DENIED',
      IP: { source, destination, ipVersion: 'IPv4' },
      l4: { TCP: { source_port: 40_000, destination_port: 443, flags: { SYN: true } } },
      node_name: 'node-b',
      traffic_direction: 'INGRESS',
      ingress_denied_by: denied,
      egress_denied_by: denied,
    },
    node_name: 'node-b',
    time: '2026-11-21T09:00:00Z',
  });
}

function felixLine(source: object, destination: object, reporter: string): string {
  return JSON.stringify({
    Key: {
      ...source,
      ...destination,
      proto: 'tcp',
      dest_port: '443',
      reporter,
      action: 'Deny',
      policies: {
        enforced_policies: [
          { kind: 'CalicoNetworkPolicy', namespace: 'shop', name: 'secret-policy', tier: 'default', action: 'Deny' },
        ],
      },
    },
    StartTime: '1795251600',
    EndTime: '1795251610',
    packets_in: '3',
  });
}

const endOf = (side: string, type: string, namespace: string, name: string): object => ({
  [`${side}_type`]: type,
  [`${side}_namespace`]: namespace,
  [`${side}_name`]: name,
});

const ovnLine = (name: string, source: string, destination: string): string =>
  `2026-11-21T09:00:00.123Z|00005|acl_log(ovn_pinctrl0)|INFO|name="${name}", verdict=drop, severity=alert: tcp,vlan_tci=0x0000,dl_src=0a:58:0a:80:02:39,dl_dst=0a:58:0a:80:02:37,nw_src=${source},nw_dst=${destination},tp_src=54343,tp_dst=53`;

/** Lines of all loggers that name policies, about packets of both Namespaces. */
const lines = fc.constantFrom(
  ...[theirs, outside].flatMap((other) =>
    [
      [ours, other],
      [other, ours],
    ].flatMap(([source = '', destination = '']) => [
      kernelLine('calico-drop: ', source, destination),
      kernelLine('DROP by policy shop/secret-policy ', source, destination),
      kernelLine('calico-drop knp:shop/secret-policy: ', source, destination),
      ciliumLine(source, destination),
      `2026/11/21 09:00:00.123456 AntreaPolicyIngressRule AntreaNetworkPolicy:shop/secret-policy SecretRule Ingress Drop 14500 shop/web-0 ${source} 35402 ${destination} 80 TCP 60 my-label [2 packets in 1.000855539s]`,
      `2026/11/21 09:00:00.123456 EgressRule K8sNetworkPolicy shop/secret-policy Drop 44900 ${source} 35402 ${destination} 80 TCP 60`,
      ovnLine('NP:shop:secret-policy:Ingress:0', source, destination),
      ovnLine('shop_secret-policy_0', source, destination),
      ovnLine('secret-policy', source, destination),
    ]),
  ),
  felixLine(
    endOf('source', 'WorkloadEndpoint', 'curious', 'probe-0'),
    endOf('dest', 'NetworkSet', 'shop', 'secret-set'),
    'Src',
  ),
  felixLine(
    endOf('source', 'NetworkSet', 'shop', 'secret-set'),
    endOf('dest', 'WorkloadEndpoint', 'curious', 'probe-0'),
    'Dst',
  ),
);

async function eventsOf(objects: readonly object[], log: string): Promise<string[]> {
  const [saved, text] = [join(folder(), 'objects.json'), join(folder(), 'log')];
  writeFileSync(saved, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  writeFileSync(text, `${log}\n`);
  const all = ['--pods', saved, '--now', '2026-11-21T20:00:00Z', '--time-zone', 'UTC', '--output', 'json', text];
  let out = '';
  await replay(readReplayOptions(parsed('replay', ...all)), {
    stdin: process.stdin,
    out: (part) => void (out += part),
    err: () => {},
  });
  return out.split('\n').filter((line) => line !== '');
}

let told = 0;

test('an Event neither names nor shows anything of another Namespace that its readers may not know', async () => {
  await forAllAsync([policies, fc.boolean(), lines], { numRuns }, async (policy, isAccountSaved, line) => {
    const events = await eventsOf([...cluster, policy, ...(isAccountSaved ? [account] : [])], line);
    for (const event of events) {
      if ((JSON.parse(event) as { involvedObject: { namespace: string } }).involvedObject.namespace !== 'curious')
        continue;
      told++;
      expect(event).not.toContain('secret');
    }
  });
  expect(told).toBeGreaterThan(numRuns / 3);
});

const services = (name: string, namespace: string): object => ({
  action: 'Allow',
  destination: { services: { name, namespace } },
});
const rules: readonly [string, object][] = [
  [
    'port',
    probe('networking.k8s.io/v1', 'NetworkPolicy', { podSelector: {}, egress: [{ ports: [{ port: 'admin' }] }] }),
  ],
  [
    'port of Cilium',
    probe('cilium.io/v2', 'CiliumNetworkPolicy', {
      endpointSelector: {},
      egress: [{ toPorts: [{ ports: [{ port: 'admin', protocol: 'TCP' }] }] }],
    }),
  ],
  ...['db', 'none'].map((name): [string, object] => [
    `Service ${name}`,
    probe('projectcalico.org/v3', 'NetworkPolicy', {
      selector: 'all()',
      types: ['Egress'],
      egress: [services(name, 'shop')],
    }),
  ]),
];

test.each(rules)('an Event does not describe a %s of another Namespace that a rule names', async (_, policy) => {
  const events = await eventsOf([...cluster, policy], kernelLine('calico-drop: ', ours, theirs));
  const own = events.filter((event) => event.includes('"name":"probe-0"'));
  expect(own.some((event) => event.includes('egress[0] allows only'))).toBe(true);
  for (const event of own) expect(event).not.toMatch(new RegExp(`${secretPort}|of that name|endpoint`));
});
