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
    const ingress = [{ action: 'Allow', source: { serviceAccounts: { selector: `${mark} == 'b'` } } }];
    await tenant.fill('calicoPolicies', 16, (index) => ofCalico(index, { ingress }));
  }),
  // The product of two lists of a tenant: the addresses and the ports of a Service's endpoints.
  judged('calico-services', async (tenant) => {
    await tenant.fill('endpointslices', 6, (index) =>
      index < 3 ? endpointSlice('ports', [1000, 1], 10_000) : endpointSlice('addresses', [100, 100], 5000),
    );
    await tenant.fill('calicoPolicies', 6, (index) => {
      const services = { name: serviceName, namespace: tenant.namespaces[index % tenant.namespaces.length] };
      return ofCalico(index, { ingress: [{ action: 'Allow', source: { services } }] });
    });
  }),
  // Named ports of a rule, and those of a Pod.
  judged(
    'policy-named-ports',
    (tenant) =>
      tenant.fill('networkpolicies', 6, (index) => {
        const ports = Array.from({ length: 5000 }, (_, port) => ({ port: `q${port}`, protocol: 'TCP' }));
        return networkPolicy(index, [{ ports }]);
      }),
    { count: 6, make: manyPorts },
  ),
  // All have the same order. All admit, except the last one by its name.
  judged('policy-order', async (tenant) => {
    await tenant.fill('calicoPolicies', 3, (index) => ({
      ...ofCalico(index, { order: 1000, ingress: [{ action: 'Deny' }] }),
      metadata: { name: `z-${mark}-${index}` },
    }));
    await tenant.fill('networkpolicies', 5000, (index) => networkPolicy(index, [{}]), tenant.namespaces[0]);
  }),
  judged('calico-order', (tenant) => {
    const ingress = [{ action: 'Deny', protocol: 'UDP' }];
    return tenant.fill('calicoPolicies', 5000, (index) => ofCalico(index, { order: 7, ingress }), tenant.namespaces[0]);
  }),
  // The product of the parts of a selector and the sets that contain the address.
  judged('calico-set-parts', async (tenant) => {
    await tenant.fill('networksets', 192, (index) => ({
      metadata: { name: `${mark}-set-${index}`, labels: { [mark]: 'set', ...manyLabels(20, index) } },
      spec: { nets: ['0.0.0.0/0'] },
    }));
    const parts = Array.from({ length: 7000 }, (_, part) => `${mark}!='${part}'`);
    await tenant.fill('calicoPolicies', 3, (index) => calicoPolicy(index, `!(${parts.join('&&')})`));
  }),
];

const serviceName = `${mark}-svc`;

function addressAt(index: number): string {
  return `11.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
}

/** A slice with this many endpoints, and addresses for each. */
function endpointSlice(name: string, [endpoints, addresses]: readonly [number, number], ports: number): TenantObject {
  return {
    addressType: 'IPv4',
    metadata: { name: `${mark}-${name}`, labels: { 'kubernetes.io/service-name': serviceName } },
    endpoints: Array.from({ length: endpoints }, (_, host) => ({
      addresses: Array.from({ length: addresses }, (__, each) => addressAt(host * addresses + each)),
    })),
    ports: Array.from({ length: ports }, (_, port) => ({ name: `p${port}`, port: port + 1, protocol: 'TCP' })),
  };
}

/** As many ports as fit into an object of 1.5 MB. */
function manyPorts(index: number): TenantObject {
  const ports = Array.from({ length: 40_000 }, (_, port) => ({ name: `p${port}`, containerPort: port + 1 }));
  return {
    metadata: { name: `${mark}-ports-${index}` },
    spec: { containers: [{ name: mark, image: `${mark}:1`, ports }] },
  };
}

/** A field without a schema may be anything. */
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

/**
 * Packets of its Pods that these policies have to judge. Each is from another source and to one port, because for a
 * port scan no policy is evaluated.
 */
function judged(
  name: string,
  makePolicies: (tenant: Tenant) => Promise<void>,
  { count = 40, make }: { count?: number; make?: (index: number) => TenantObject } = {},
): Attack {
  let pods: readonly TenantPod[] = [];
  return {
    name,
    async prepare(tenant) {
      await makePolicies(tenant);
      pods = await tenant.runPods(count, make);
    },
    async play(tenant) {
      for (let turn = 0; !tenant.isOver; turn++) {
        tenant.log(
          ...pods.map(({ address, device }, index) =>
            packetLine({ source: `198.18.${turn & 255}.${index}`, destination: address, port: 8080, out: device }),
          ),
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
  return ofCalico(index, { ingress: [{ action: 'Allow', source: { selector } }] });
}

function ofCalico(index: number, spec: object): TenantObject {
  return { metadata: { name: `default.${mark}-${index}` }, spec: { selector: 'all()', types: ['Ingress'], ...spec } };
}
