import type { Attack, Tenant, TenantObject } from '../attack.ts';
import { longName, manyLabels, mark, oddTexts } from '../words.ts';

/** Services, which every tenant may create, and whose fields name addresses and ports. */
export const serviceAttacks: readonly Attack[] = [
  {
    name: 'service-claims',
    // Enough objects to claim each address with each of the fields.
    prepare: (tenant) => tenant.fill('services', 4 * tenant.targets.addresses.length, (index) => claim(tenant, index)),
    async play(tenant) {
      for (let index = 0; !tenant.isOver; index++) {
        const namespace = tenant.chance.pick(tenant.namespaces);
        const object = claim(tenant, tenant.chance.number(4 * tenant.targets.addresses.length), index);
        if (index % 3 === 0) await tenant.remove('services', namespace, object.metadata.name);
        else await tenant.put('services', namespace, object);
      }
    },
  },
  { name: 'service-ports', prepare: (tenant) => tenant.fill('services', 2000, (index) => manyPorts(index, 512)) },
  {
    name: 'service-growth',
    async play(tenant) {
      for (let index = 0; !tenant.isOver; index++) {
        const namespace = tenant.chance.pick(tenant.namespaces);
        await tenant.put('services', namespace, {
          metadata: { name: longName(index) },
          spec: { clusterIP: 'None', externalIPs: outsideAddresses(index, 128), ports: ports(index, 100) },
        });
      }
    },
  },
  {
    // A Service with no address, two addresses, or one of the other family, in all possible ways.
    name: 'service-families',
    prepare: (tenant) =>
      tenant.fill('services', 400, (index) => {
        const { metadata, spec } = claim(tenant, index);
        const families = [['IPv4'], ['IPv6'], ['IPv4', 'IPv6'], ['IPv6', 'IPv4']][index % 4];
        const policy = ['SingleStack', 'PreferDualStack', 'RequireDualStack'][index % 3];
        const selector = index % 2 === 0 ? { app: 'web' } : undefined;
        const own = { ...(spec as object), clusterIP: 'None', type: 'ClusterIP', loadBalancerIP: undefined, selector };
        return {
          metadata: { ...metadata, name: `${mark}-family-${index}` },
          spec: { ...own, ipFamilies: families, ipFamilyPolicy: policy, publishNotReadyAddresses: true },
        };
      }),
  },
  {
    name: 'service-metadata',
    prepare: (tenant) => tenant.fill('services', 300, (index) => heavyMetadata(tenant, index)),
  },
];

/** A Service that claims an address of others. */
function claim(tenant: Tenant, index: number, turn = 0): TenantObject {
  const { addresses } = tenant.targets;
  const address = addresses[index % addresses.length] as string;
  const named = [5432, 6379, 8080, 443, 53, 9090, 10250, 5433].map((port, place) => ({
    name: `${mark}-${place}`,
    port,
    protocol: port === 53 ? 'UDP' : 'TCP',
  }));
  const spec = [
    { externalIPs: [address, ...addresses.slice(0, turn % 5)], ports: named },
    {
      type: 'LoadBalancer',
      loadBalancerIP: address,
      externalIPs: [address],
      allocateLoadBalancerNodePorts: false,
      ports: named,
    },
    { clusterIP: 'None', externalIPs: [address], ports: named },
    { type: 'ExternalName', externalName: `${mark}.${address}.example.org`, externalIPs: [address], ports: named },
  ][Math.floor(index / addresses.length) % 4];
  const annotations = { 'metallb.universe.tf/loadBalancerIPs': address, 'projectcalico.org/IPv4Address': address };
  return {
    metadata: { name: `${mark}-claim-${index}`, annotations, labels: { 'k8s-app': 'kube-dns', app: mark } },
    spec,
  };
}

function manyPorts(index: number, count: number): TenantObject {
  return { metadata: { name: `${mark}-ports-${index}` }, spec: { clusterIP: 'None', ports: ports(index, count) } };
}

function ports(index: number, count: number): object[] {
  return Array.from({ length: count }, (_, port) => ({
    name: longName(index * 1000 + port),
    port: port + 1,
    protocol: 'TCP',
    targetPort: port + 1,
  }));
}

function outsideAddresses(index: number, count: number): string[] {
  return Array.from({ length: count }, (_, host) => `203.${(index >> 8) & 255}.${index & 255}.${host}`);
}

function heavyMetadata(tenant: Tenant, index: number): TenantObject {
  return {
    metadata: {
      name: `${mark}-heavy-${index}`,
      labels: manyLabels(8000, index),
      annotations: { [`${mark}.example.org/text`]: tenant.chance.pick(oddTexts) + 'a'.repeat(200_000) },
    },
    spec: { type: 'ExternalName', externalName: `${mark}.example.org` },
  };
}
