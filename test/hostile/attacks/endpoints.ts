import type { Attack, Tenant, TenantObject } from '../attack.ts';
import { longName, mark } from '../words.ts';

/** EndpointSlices and Endpoints that name addresses and Pods of others. */
export const endpointAttacks: readonly Attack[] = [
  {
    name: 'slice-claims',
    async prepare(tenant) {
      await tenant.fill('endpointslices', 60, (index) => claims(tenant, index));
      await tenant.fill('endpoints', 20, (index) => oldClaims(tenant, index));
    },
    async play(tenant) {
      for (let index = 0; !tenant.isOver; index++) {
        await tenant.put('endpointslices', tenant.chance.pick(tenant.namespaces), claims(tenant, index % 60));
        await tenant.put('endpoints', tenant.chance.pick(tenant.namespaces), oldClaims(tenant, index % 20));
      }
    },
  },
  {
    name: 'slice-families',
    prepare: (tenant) => tenant.fill('endpointslices', 200, (index) => ofFamily(tenant, index)),
  },
  {
    name: 'slice-crowd',
    prepare: (tenant) => tenant.fill('endpointslices', 1500, (index) => manyEndpoints(tenant, index)),
  },
  {
    name: 'slice-growth',
    async play(tenant) {
      for (let index = 0; !tenant.isOver; index++)
        await tenant.put('endpointslices', tenant.chance.pick(tenant.namespaces), manyEndpoints(tenant, index));
    },
  },
  {
    // Deleted objects are remembered for a while.
    name: 'slice-deletions',
    async play(tenant) {
      for (let index = 0; !tenant.isOver; index++) {
        const namespace = tenant.chance.pick(tenant.namespaces);
        const slice = manyEndpoints(tenant, index & 255);
        await tenant.put('endpointslices', namespace, slice);
        await tenant.remove('endpointslices', namespace, slice.metadata.name);
      }
    },
  },
];

function labelsOf(tenant: Tenant, index: number): Record<string, string> {
  const services = [`${mark}-svc-${index}`, 'db', 'kube-dns', 'kubernetes'];
  return { 'kubernetes.io/service-name': tenant.chance.pick(services), app: mark };
}

/** A slice whose endpoints are addresses and Pods of others. */
function claims(tenant: Tenant, index: number): TenantObject {
  const { addresses, honestPods, node } = tenant.targets;
  const endpoints = addresses.map((address, place) => {
    const [namespace, name] = (honestPods[(place + index) % honestPods.length] as string).split('/');
    const own = index % 2 === 0 ? { namespace, name } : { namespace: mark, name: `${mark}-${place}` };
    return { addresses: [address], nodeName: node, targetRef: { kind: 'Pod', ...own }, hostname: `${mark}-${place}` };
  });
  const ports = [5432, 443, 8080, 53].map((port) => ({ name: `${mark}-${port}`, port, protocol: 'TCP' }));
  return {
    addressType: 'IPv4',
    metadata: { name: `${mark}-claim-${index}`, labels: labelsOf(tenant, index) },
    endpoints,
    ports,
  };
}

/** The same addresses as IPv6, as names, or unchanged. */
function ofFamily(tenant: Tenant, index: number): TenantObject {
  const slice = claims(tenant, index);
  const addressType = ['IPv6', 'FQDN', 'IPv4'][index % 3] as string;
  const endpoints = tenant.targets.addresses.map((address) => ({
    addresses: [writtenAs(addressType, address)],
    nodeName: tenant.targets.node,
    conditions: { ready: index % 2 === 0, serving: true, terminating: index % 5 === 0 },
  }));
  return { ...slice, metadata: { ...slice.metadata, name: `${mark}-family-${index}` }, addressType, endpoints };
}

function writtenAs(addressType: string, address: string): string {
  if (addressType === 'IPv6') return `64:ff9b::${address}`;
  return addressType === 'FQDN' ? `${address.replaceAll('.', '-')}.${mark}.example.org` : address;
}

function oldClaims(tenant: Tenant, index: number): TenantObject {
  const addresses = tenant.targets.addresses.map((ip, place) => ({
    ip,
    targetRef: { kind: 'Pod', namespace: 'shop', name: `${mark}-${place}` },
  }));
  return { metadata: { name: `${mark}-old-${index}` }, subsets: [{ addresses, ports: [{ name: mark, port: 5432 }] }] };
}

function manyEndpoints(tenant: Tenant, index: number): TenantObject {
  const endpoints = Array.from({ length: 1000 }, (_, host) => ({
    addresses: [`11.${index & 255}.${host >> 8}.${host & 255}`],
    nodeName: tenant.targets.node,
    targetRef: { kind: 'Pod', namespace: 'shop', name: longName(host, 253) },
  }));
  const ports = Array.from({ length: 100 }, (_, port) => ({ name: longName(port), port: port + 1, protocol: 'TCP' }));
  return {
    addressType: 'IPv4',
    metadata: { name: `${mark}-crowd-${index}`, labels: labelsOf(tenant, index) },
    endpoints,
    ports,
  };
}
