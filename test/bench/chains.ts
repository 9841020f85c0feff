/**
 * `npm run bench -- chains`: the memory and the time that it takes to know which Service, port and endpoint each
 * chain of kube-proxy belongs to. 20,000 Services of 1.5 ports and 10 endpoints each. The Services themselves, which the lists keep
 * anyway, are not the index's; the EndpointSlices are. "After a change": all names are hashed again, once for all chains that are asked for.
 */
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { slimEndpointSlice, slimService } from '../../src/kubernetes/slim.ts';
import { alignColumns } from '../../src/events/describe.ts';
import { type ChainIndex, createChainIndex } from '../../src/resolving/service-chains/chain-index.ts';
import { chainHash, hashedTexts, hostPort } from '../../src/resolving/service-chains/chain-name.ts';
import { unpackEndpoints } from '../../src/resolving/service-chains/packed-endpoints.ts';
import type { EndpointSlice, Service } from '../../src/resolving/objects.ts';

const count = 20_000;
const replicas = 10;
const nodes = 200;
const now = Date.UTC(2026, 10, 21, 9);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

// Code and caches that all of them share are no index's.
fill(createChainIndex(), services(50), slices(50));

const before = heap();
const allServices = services(count);
const withServices = heap();
const alone = createChainIndex();
const aloneTook = timed(() => fill(alone, allServices, []));
const withIndex = heap();
const allSlices = slices(count);
const index = createChainIndex();
const withSlices = heap();
const both = timed(() => fill(index, allServices, allSlices));
const withBoth = heap();
const serviceChains = allServices.flatMap(({ namespace, name, ports: own }) =>
  own.map(({ name: port, protocol }) => `KUBE-SVC-${chainHash(hashedTexts(namespace, name, port, protocol)[0] ?? '')}`),
);
const endpointChains = allSlices.slice(0, 2000).flatMap(endpointChainsOf);

const aloneSize = withIndex - withServices;
const bothSize = withBoth - withIndex;
console.log(
  alignColumns([
    ['what', 'figure', 'aim'],
    ['the Services, kept anyway', megabytes(withServices - before), ''],
    ['index of Services alone', megabytes(aloneSize), 'under 10 MB'],
    ['index with EndpointSlices', megabytes(bothSize), 'under 40 MB'],
    ['… of that the EndpointSlices as they are', megabytes(withSlices - withIndex), ''],
    ['to build, Services alone', `${Math.round(aloneTook)} ms`, ''],
    ['to build, with EndpointSlices', `${Math.round(both)} ms`, ''],
    ['16 chains of Services, the first time', lookUp(index, serviceChains.slice(0, 16)), ''],
    ['… again', lookUp(index, serviceChains.slice(0, 16)), ''],
    ['… after a change', lookUp(afterChange(), serviceChains.slice(0, 16)), ''],
    ['a chain of an endpoint, the first time', lookUp(index, endpointChains.slice(0, 1)), ''],
    ['16 chains of no Service, the first time', lookUp(index, unowned(16), 0), ''],
    ['a change of readiness in one slice', changeOfReadiness(), ''],
  ]).join('\n'),
);

function fill(target: ChainIndex, someServices: Service[], someSlices: EndpointSlice[]): ChainIndex {
  for (const service of someServices) target.setService(service, now);
  for (const slice of someSlices) target.setSlice(slice, now);
  return target;
}

/** Typed arrays keep their content outside of the heap. */
function heap(): number {
  for (let round = 0; round < 3; round++) collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Milliseconds of the processor: what else runs on the machine does not count. */
function timed(what: () => unknown): number {
  const started = process.threadCpuUsage();
  what();
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1000;
}

/** `found`: the share of them that have an owner. */
function lookUp(target: ChainIndex, chains: string[], found = 1): string {
  let owned = 0;
  const took = timed(() => {
    target.expect(chains);
    for (const chain of chains) if (target.ownerOf(chain) !== undefined) owned++;
  });
  if (owned !== chains.length * found) throw new Error(`${owned} of ${chains.length} were found`);
  return `${took.toFixed(1)} ms`;
}

function afterChange(): ChainIndex {
  return fill(index, allServices.slice(0, 1), []);
}

function changeOfReadiness(): string {
  const changed: EndpointSlice[] = [];
  for (const slice of allSlices.slice(0, 2000))
    changed.push({ ...slice, endpoints: slice.endpoints.replace(/1\]$/, '0]') });
  if (changed[0]?.endpoints === allSlices[0]?.endpoints) throw new Error('nothing is changed');
  const took = timed(() => changed.forEach((slice) => index.setSlice(slice, now)));
  return `${((took / changed.length) * 1000).toFixed(1)} µs`;
}

function unowned(number: number): string[] {
  return Array.from({ length: number }, (_, each) => `KUBE-SVC-${chainHash(`unowned ${each}`)}`);
}

function endpointChainsOf(slice: EndpointSlice): string[] {
  return slice.ports.flatMap(({ name, port, protocol }) => {
    const [text = ''] = hashedTexts(slice.namespace, slice.service, name, protocol);
    return unpackEndpoints(slice).map(({ address }) => `KUBE-SEP-${chainHash(text + hostPort(address, port))}`);
  });
}

/** Each text is a copy of its own, as off the wire. */
function services(number: number): Service[] {
  return Array.from({ length: number }, (_, each) => slimService(JSON.parse(JSON.stringify(serviceObject(each)))));
}

function slices(number: number): EndpointSlice[] {
  return Array.from({ length: number }, (_, each) => slimEndpointSlice(JSON.parse(JSON.stringify(sliceObject(each)))));
}

function serviceObject(number: number): unknown {
  const { namespace, name } = names(number);
  return {
    metadata: { namespace, name, uid: uid(name), resourceVersion: `${184_000_000 + number * 37}` },
    spec: {
      clusterIP: `10.96.${number >> 8}.${number & 255}`,
      ports: portsOf(number, (port) => port),
    },
  };
}

function sliceObject(number: number): unknown {
  const { namespace, name } = names(number);
  return {
    metadata: {
      namespace,
      name: `${name}-${hex(name, 5)}`,
      uid: uid(`${name}-slice`),
      resourceVersion: `${185_000_000 + number * 37}`,
      labels: { 'kubernetes.io/service-name': name },
    },
    ports: portsOf(number, (port) => port + 8000),
    endpoints: Array.from({ length: replicas }, (_, each) => {
      const pod = number * replicas + each;
      return {
        addresses: [`10.${64 + (pod >> 16)}.${(pod >> 8) & 255}.${pod & 255}`],
        conditions: { ready: true },
        nodeName: `ip-10-0-${(pod * 7) % nodes}-12.eu-west-1.compute.internal`,
        targetRef: { kind: 'Pod', namespace, name: `${name}-${hex(name, 10)}-${hex(String(pod), 5)}` },
      };
    }),
  };
}

/** Every other Service has two. */
function portsOf(number: number, portOf: (port: number) => number): unknown[] {
  const all = [
    { name: 'http', port: portOf(80), protocol: 'TCP' },
    { name: 'metrics', port: portOf(number % 10 === 1 ? 9100 : 9090), protocol: 'TCP' },
  ];
  return all.slice(0, 1 + (number % 2));
}

function names(number: number): { namespace: string; name: string } {
  const app = ['payment', 'inventory', 'recommendation', 'search-indexer'][number % 4];
  return { namespace: `team-${number % 40}-production`, name: `${app}-service-${number}` };
}

function uid(what: string): string {
  return hex(what, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function hex(what: string, length: number): string {
  return createHash('sha256').update(what).digest('hex').slice(0, length);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
