import type { Attack, Tenant, TenantObject, TenantPod } from '../attack.ts';
import { packetLine } from '../packet-line.ts';
import { longName, manyLabels, mark } from '../words.ts';

/** Policies that take memory or time to read, and packets that make the agent read them. */
export const policyAttacks: readonly Attack[] = [
  judged('policy-blocks', (tenant) =>
    tenant.fill('networkpolicies', 40, (index) => networkPolicy(index, [{ from: blocks(13_000) }])),
  ),
  judged('policy-rules', (tenant) =>
    tenant.fill('networkpolicies', 40, (index) =>
      networkPolicy(
        index,
        Array.from({ length: 7000 }, () => ({ from: [{ podSelector: { matchLabels: { [mark]: 'b' } } }] })),
      ),
    ),
  ),
  judged('policy-selectors', (tenant) =>
    tenant.fill('networkpolicies', 40, (index) => {
      const values = Array.from({ length: 10_000 }, (_, value) => longName(value));
      const matchExpressions = [{ key: mark, operator: 'NotIn', values }];
      return networkPolicy(index, [{ from: [{ podSelector: { matchExpressions }, namespaceSelector: {} }] }]);
    }),
  ),
  judged('policy-crowd', (tenant) =>
    tenant.fill('networkpolicies', 4000, (index) => networkPolicy(index, [{ from: blocks(20) }])),
  ),
  judged('policy-ports', (tenant) =>
    tenant.fill('networkpolicies', 40, (index) => {
      const ports = Array.from({ length: 10_000 }, (_, port) => ({ port: port + 1, endPort: 65_535, protocol: 'TCP' }));
      return networkPolicy(index, [{ from: blocks(10), ports }]);
    }),
  ),
  judged('policy-empty', (tenant) => tenant.fill('networkpolicies', 4000, (index) => networkPolicy(index, []))),
  judged('calico-odd', (tenant) =>
    tenant.fill('calicoPolicies', 400, (index) => ({
      metadata: { name: `default.${mark}-odd-${index}` },
      spec: {
        selector: odd(tenant),
        types: odd(tenant),
        order: odd(tenant),
        ingress: odd(tenant),
        egress: [odd(tenant)],
      },
    })),
  ),
  judged('cilium-rules', (tenant) =>
    tenant.fill('ciliumnetworkpolicies', 40, (index) => ({
      metadata: { name: `${mark}-cilium-${index}` },
      spec: {
        endpointSelector: {},
        ingress: Array.from({ length: 3000 }, (_, rule) => ({
          fromEndpoints: [{ matchLabels: { [mark]: 'b' }, matchExpressions: [{ key: mark, operator: 'Exists' }] }],
          fromCIDRSet: [{ cidr: `11.${rule & 255}.0.0/16`, except: [`11.${rule & 255}.7.0/24`] }],
          toPorts: [{ ports: [{ port: String(rule + 1), protocol: 'ANY' }] }],
        })),
      },
    })),
  ),
  judged('calico-selectors', (tenant) =>
    tenant.fill('calicoPolicies', 44, (index) =>
      calicoPolicy(index, `${`${mark}=='b'||`.repeat(100_000)}c=='${index}'`),
    ),
  ),
  judged('calico-sets', async (tenant) => {
    const nets = Array.from({ length: 60_000 }, (_, net) => `11.${(net >> 8) & 255}.${net & 255}.0/24`);
    await tenant.fill('networksets', 80, (index) => ({
      metadata: { name: `${mark}-set-${index}`, labels: { [mark]: 'set', ...manyLabels(500, index) } },
      spec: { nets },
    }));
    await tenant.fill('calicoPolicies', 8, (index) => calicoPolicy(index, `${mark}=='set'`));
  }),
  judged('account-labels', async (tenant) => {
    await tenant.fill('serviceaccounts', 200, (index) => ({
      metadata: { name: `${mark}-account-${index}`, labels: manyLabels(6000, index) },
    }));
    await tenant.fill('calicoPolicies', 16, (index) => ({
      ...calicoPolicy(index, 'all()'),
      spec: {
        selector: 'all()',
        types: ['Ingress'],
        ingress: [{ action: 'Allow', source: { serviceAccounts: { selector: `${mark} == 'b'` } } }],
      },
    }));
  }),
];

/** Where definitions have no schema, a field may be anything. */
function odd(tenant: Tenant, depth = 0): unknown {
  const { number, pick: choose } = tenant.chance;
  const nested = depth < 4 ? [odd(tenant, depth + 1), { source: odd(tenant, depth + 1), action: 'Allow' }] : [];
  return choose([
    null,
    number(1e9),
    mark,
    `${'('.repeat(2000)}all()`,
    [],
    {},
    nested,
    { [mark]: nested },
    [null],
    true,
  ]);
}

/** The packets of its Pods, which these policies have to judge. */
function judged(name: string, makePolicies: (tenant: Tenant) => Promise<void>): Attack {
  let pods: readonly TenantPod[] = [];
  return {
    name,
    async prepare(tenant) {
      pods = await tenant.runPods(40);
      await makePolicies(tenant);
    },
    async play(tenant) {
      for (let port = 1; !tenant.isOver; port++) {
        tenant.log(
          ...pods.map((pod) => packetLine({ source: '203.0.113.9', destination: pod.address, port, out: pod.device })),
        );
        await tenant.wait(1000);
      }
    },
  };
}

function networkPolicy(index: number, ingress: readonly object[]): TenantObject {
  return {
    metadata: { name: `${mark}-policy-${index}` },
    spec: { podSelector: {}, policyTypes: ['Ingress'], ingress },
  };
}

function blocks(count: number): object[] {
  return Array.from({ length: count }, (_, net) => ({ ipBlock: { cidr: `11.${(net >> 8) & 255}.${net & 255}.0/24` } }));
}

function calicoPolicy(index: number, selector: string): TenantObject {
  const ingress = [{ action: 'Allow', source: { selector } }];
  return { metadata: { name: `default.${mark}-${index}` }, spec: { selector: 'all()', types: ['Ingress'], ingress } };
}
