import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ChainIndex,
  type OwnedChain,
  createChainIndex,
  defaultChainLimits,
} from '../../../../src/explain/resolving/service-chains/chain-index.ts';
import { hostAndPort } from '../../../../src/base/platform/address.ts';
import { chainHash } from '../../../../src/explain/resolving/service-chains/chain-name.ts';
import type { Backend } from '../../../../src/base/model/incident.ts';
import type { ServicePort, ServiceProtocol } from '../../../../src/explain/resolving/objects.ts';
import { type MemoryBudget, unlimitedMemory } from '../../../../src/base/platform/memory-budget.ts';
import { backend, endpointSlice, nine, service } from '../../../builders.ts';
import { forAll, forAllAsync } from '../../../for-all.ts';

const day = defaultChainLimits.age;

const http: ServicePort = { name: 'http', port: 80, protocol: 'tcp' };
const unnamed: ServicePort = { name: '', port: 53, protocol: 'udp' };

/** kube-proxy's rule, written again. */
function serviceChain(name: string, port: string, protocol: ServiceProtocol): string {
  return `KUBE-SVC-${chainHash(`shop/${name}${port && `:${port}`}${protocol}`)}`;
}

function endpointChain(name: string, port: string, protocol: ServiceProtocol, endpoint: string): string {
  return `KUBE-SEP-${chainHash(`shop/${name}${port && `:${port}`}${protocol}${endpoint}`)}`;
}

/** Describes a chain, for example `api:http/tcp of uid-of-api`, with anything special about it. */
function described(owner: OwnedChain | undefined): string | undefined {
  if (owner === undefined) return undefined;
  const { service: ref, port, protocol, endpoint, deleted } = owner;
  return `${ref.name}:${port}/${protocol} of ${ref.uid}${endpoint ? ` at ${endpoint}` : ''}${deleted ? ', deleted' : ''}`;
}

function known(): ChainIndex {
  const index = createChainIndex();
  index.setService(service(), nine);
  return index;
}

test('a Service’s chain is found by its hash', () => {
  expect(known().ownerOf(serviceChain('api', 'http', 'tcp'))).toMatchObject({
    service: { kind: 'Service', namespace: 'shop', name: 'api', uid: 'uid-of-api', resourceVersion: '5' },
    port: 'http',
    protocol: 'tcp',
    endpoint: undefined,
    deleted: false,
  });
});

test('the chain of an unnamed port is found in both spellings, and named by the number', () => {
  const index = createChainIndex();
  index.setService(service({ ports: [unnamed] }), nine);
  for (const text of ['shop/apiudp', 'shop/api:udp'])
    expect(described(index.ownerOf(`KUBE-SVC-${chainHash(text)}`))).toBe('api:53/udp of uid-of-api');
  index.setService(service({ ports: [{ ...unnamed, port: 54 }] }), nine);
  expect(described(index.ownerOf(serviceChain('api', '', 'udp')))).toBe('api:54/udp of uid-of-api');
});

test.each(['KUBE-SERVICES', 'KUBE-SVC-AAAAAAAAAAAAAAAA', 'KUBE-SEP-AAAAAAAAAAAAAAAA', 'INPUT', ''])(
  "a Service's chain: %j has no owner",
  (chain) => {
    expect(known().ownerOf(chain)).toBeUndefined();
  },
);

test("a Service's chain belongs to another one if only the first 32 bits of the hash agree", () => {
  const index = createChainIndex();
  const [one, other] = ['api-59487', 'api-85844'];
  index.setService(service({ name: one, uid: 'one' }), nine);
  expect(serviceChain(one, 'http', 'tcp')).toBe('KUBE-SVC-O5O3XV7U2EHZCRTH');
  expect(serviceChain(other, 'http', 'tcp')).toBe('KUBE-SVC-O5O3XVZ3TP5SDQA5');
  expect(index.ownerOf('KUBE-SVC-O5O3XVZ3TP5SDQA5')).toBeUndefined();
  index.setService(service({ name: other, uid: 'other' }), nine);
  expect(index.ownerOf('KUBE-SVC-O5O3XV7U2EHZCRTH')?.service.uid).toBe('one');
  expect(index.ownerOf('KUBE-SVC-O5O3XVZ3TP5SDQA5')?.service.uid).toBe('other');
  index.removeService('shop', one, nine);
  expect(index.ownerOf('KUBE-SVC-O5O3XVZ3TP5SDQA5')).toMatchObject({ service: { uid: 'other' }, deleted: false });
  expect(index.ownerOf('KUBE-SVC-O5O3XV7U2EHZCRTH')).toMatchObject({ service: { uid: 'one' }, deleted: true });
});

const nftablesChain = 'service-2QRHZV4L-default/kubernetes/tcp/https';

test('a chain of nftables mode names its Service, even if that is unknown', () => {
  const index = createChainIndex();
  expect(index.ownerOf(nftablesChain)).toMatchObject({
    service: { namespace: 'default', name: 'kubernetes', uid: '' },
    port: 'https',
    deleted: false,
  });
  const ports: ServicePort[] = [{ name: 'https', port: 443, protocol: 'tcp' }];
  index.setService(service({ namespace: 'default', name: 'kubernetes', uid: 'k', ports }), nine);
  expect(described(index.ownerOf(nftablesChain))).toBe('kubernetes:https/tcp of k');
  index.removeService('default', 'kubernetes', nine);
  expect(described(index.ownerOf(nftablesChain))).toBe('kubernetes:https/tcp of k, deleted');
});

test('a chain of nftables mode names its endpoint', () => {
  expect(described(createChainIndex().ownerOf('endpoint-JO2XBXZR-testing/service/tcp/http__10.180.0.1/80'))).toBe(
    'service:http/tcp of  at 10.180.0.1:80',
  );
});

test("an endpoint's chain has its own port, and is named by the Service's", () => {
  const index = createChainIndex();
  const chain = endpointChain('api', '', 'udp', '10.65.2.9:5353');
  index.setSlice(endpointSlice({ ports: [{ ...unnamed, port: 5353 }] }), nine);
  // The Service's uid is not known yet.
  expect(described(index.ownerOf(chain))).toBe('api:/udp of  at 10.65.2.9:5353');
  index.setService(service({ ports: [unnamed] }), nine);
  expect(described(index.ownerOf(chain))).toBe('api:53/udp of uid-of-api at 10.65.2.9:5353');
});

test('each backend is one Pod, however many addresses and slices it has', () => {
  const index = known();
  const second = backend({ address: '10.65.2.10', pod: { namespace: 'shop', name: 'api-1' }, ready: false });
  const elsewhere = backend({ address: '192.0.2.4', pod: undefined, node: undefined });
  index.setSlice(endpointSlice({ endpoints: [backend({ ready: false }), second, elsewhere] }), nine);
  const other = endpointSlice({ name: 'api-v6', endpoints: [backend({ address: 'fd00:65::9' })] });
  index.setSlice(other, nine);
  index.setSlice(endpointSlice({ name: 'web', service: 'web' }), nine);
  expect(index.backendsOf('shop', 'api')).toEqual([backend({ ready: true }), second, elsewhere]);
  expect(index.backendsOf('shop', 'nobody')).toEqual([]);
});

test('a backend may be in another namespace', () => {
  const index = known();
  const stranger = backend({ pod: { namespace: 'batch', name: 'worker-1' } });
  index.setSlice(endpointSlice({ endpoints: [stranger] }), nine);
  expect(index.backendsOf('shop', 'api')).toEqual([stranger]);
});

const postgres: ServicePort = { name: 'postgres', port: 5432, protocol: 'tcp' };
const targets = (index: ChainIndex, port: number, address = '10.96.0.80', most = 16): string[] | undefined =>
  index.targetsOf('shop', 'api', { address, port }, most)?.map((target) => hostAndPort(target.address, target.port));

function publishedTargets(index: ChainIndex, address: string, port = 80): string[] | 'many' | undefined {
  const found = index.publishedTargetsOf({ address, port }, 16);
  return typeof found === 'object' ? found.map((target) => target.address).toSorted() : found;
}

test('targets are the ready endpoints of the same family, each with its own port', () => {
  const index = createChainIndex();
  index.setService(service({ ports: [http, postgres] }), nine);
  const unready = backend({ address: '10.65.2.10', ready: false });
  const ports: ServicePort[] = [
    { ...postgres, port: 6432 },
    { ...http, port: 8080 },
  ];
  index.setSlice(endpointSlice({ endpoints: [backend(), unready], ports }), nine);
  const second = endpointSlice({ name: 'api-2', endpoints: [backend({ address: '10.65.2.11' })] });
  index.setSlice(second, nine);
  index.setSlice(endpointSlice({ name: 'api-v6', endpoints: [backend({ address: 'fd00:65::9' })] }), nine);
  index.setSlice(endpointSlice({ name: 'web', service: 'web' }), nine);
  index.setSlice(endpointSlice({ namespace: 'batch', name: 'other' }), nine);
  expect(targets(index, 80)).toEqual(['10.65.2.9:8080', '10.65.2.11:8080']);
  expect(targets(index, 5432)).toEqual(['10.65.2.9:6432']);
  expect(targets(index, 80, 'fd00:96::80')).toEqual(['[fd00:65::9]:8080']);
});

test('endpoints that serve while they terminate may get connections: of a Service if another is ready, of a claim always', () => {
  const states = {
    ready: { ready: true },
    draining: { ready: false, isDraining: true },
    off: { ready: false },
  } as const;
  const state = fc.constantFrom('ready' as const, 'draining' as const, 'off' as const);
  forAll([fc.array(fc.array(state, { maxLength: 4 }), { maxLength: 3 })], { numRuns: 300 }, (slices) => {
    const index = createChainIndex();
    index.setService(service({ ports: [http], published: ['198.51.100.7'] }), nine);
    const possible: string[] = [];
    for (const [number, slice] of slices.entries()) {
      const endpoints = slice.map((each, last) => backend({ address: `10.65.${number}.${last}`, ...states[each] }));
      index.setSlice(endpointSlice({ name: `api-${number}`, endpoints }), nine);
      for (const { address, ready, isDraining } of endpoints) if (ready || isDraining) possible.push(address);
    }
    const found = index.targetsOf('shop', 'api', { address: '10.96.0.80', port: 80 }, 16);
    const isAnyReady = slices.flat().includes('ready');
    expect(found?.map(({ address }) => address).toSorted()).toEqual(isAnyReady ? possible.toSorted() : []);
    expect(publishedTargets(index, '198.51.100.7')).toEqual(possible.toSorted());
  });
});

test.each([
  ['a port that the Service does not have', [http], 81],
  ['a port that it has over UDP only', [unnamed], 53],
])('%s has no targets', (_, ports, port) => {
  const index = createChainIndex();
  index.setService(service({ ports }), nine);
  const own = ports.map((each) => ({ ...each, port: each.port + 1 }));
  index.setSlice(endpointSlice({ ports: own }), nine);
  expect(targets(index, port)).toEqual([]);
  expect(index.targetsOf('shop', 'nobody', { address: '10.96.0.80', port }, 16)).toEqual([]);
});

test.each([
  ['ready endpoints', { slices: 2, ofEach: 8, isReady: true }, 16],
  ['ready endpoints', { slices: 2, ofEach: 9, isReady: true }, undefined],
  ['slices', { slices: 16, ofEach: 1, isReady: false }, 0],
  ['slices', { slices: 17, ofEach: 1, isReady: false }, undefined],
])(
  'targets are unknown for a Service with too many %s: of %o there are %s',
  (_, { slices, ofEach, isReady }, found) => {
    const index = known();
    for (let number = 0; number < slices; number++) {
      const endpoints = Array.from({ length: ofEach }, (__, each) =>
        backend({ address: `10.65.${number}.${each}`, ready: isReady }),
      );
      index.setSlice(endpointSlice({ name: `api-${number}`, endpoints }), nine);
    }
    expect(targets(index, 80)?.length).toBe(found);
  },
);

test('after any changes, targets and published addresses are those of the present objects', () => {
  const names = fc.constantFrom('api', 'web');
  const change = fc.record({
    of: fc.constantFrom('service', 'slice'),
    what: fc.constantFrom('set', 'set', 'remove', 'leave out'),
    name: names,
    service: fc.constantFrom('api', 'web', ''),
    addresses: fc.uniqueArray(fc.constantFrom('198.51.100.7', '198.51.100.8'), { maxLength: 2 }),
  });
  forAll([fc.array(change, { maxLength: 30 })], { numRuns: 500 }, (changes) => {
    const index = createChainIndex();
    const services = new Map<string, readonly string[]>();
    const slices = new Map<string, string>();
    for (const { of, what, name, service: owner, addresses } of changes) {
      if (of === 'service') {
        if (what === 'set') services.set(name, addresses);
        else services.delete(name);
        if (what === 'set') index.setService(service({ name, published: addresses }), nine);
        else if (what === 'remove') index.removeService('shop', name, nine);
        else index.leaveOutService('shop', name);
      } else {
        if (what === 'set') slices.set(name, owner);
        else slices.delete(name);
        const endpoints = [backend({ address: `10.65.0.${name.charCodeAt(0)}` })];
        if (what === 'set') index.setSlice(endpointSlice({ name, service: owner, endpoints }), nine);
        else if (what === 'remove') index.removeSlice('shop', name, nine);
        else index.leaveOutSlice('shop', name);
      }
    }
    const endpointsOf = (name: string): string[] =>
      [...slices].flatMap(([slice, owner]) => (owner === name ? `10.65.0.${slice.charCodeAt(0)}` : []));
    for (const address of ['198.51.100.7', '198.51.100.8']) {
      const claiming = [...services].flatMap(([name, published]) => (published.includes(address) ? name : []));
      const published = claiming.length === 0 ? undefined : claiming.flatMap(endpointsOf).toSorted();
      expect(publishedTargets(index, address)).toEqual(published);
    }
    for (const name of ['api', 'web']) {
      const own = endpointsOf(name);
      const found = index.targetsOf('shop', name, { address: '10.96.0.80', port: 80 }, 16);
      expect(found?.map(({ address }) => address).toSorted()).toEqual(services.has(name) ? own.toSorted() : []);
    }
  });
});

test('published addresses are those of load balancers and external ones, as long as the Service exists', () => {
  const index = known();
  index.setService(service({ name: 'edge', published: ['198.51.100.7'] }), nine);
  index.setSlice(endpointSlice({ name: 'edge-1', service: 'edge', endpoints: [backend()] }), nine);
  const found = ['198.51.100.7', '198.51.100.8', '10.96.0.80'].map((address) => publishedTargets(index, address));
  expect(found).toEqual([['10.65.2.9'], undefined, undefined]);
  expect(publishedTargets(index, '198.51.100.7', 81)).toBeUndefined();
  index.removeSlice('shop', 'edge-1', nine);
  expect(publishedTargets(index, '198.51.100.7')).toEqual([]);
  index.removeService('shop', 'edge', nine);
  expect(publishedTargets(index, '198.51.100.7')).toBeUndefined();
});

test.each<[string, { services: number; port?: number; slices: number; ofEach: number }, number | string | undefined]>([
  ['Services with that port', { services: 16, slices: 1, ofEach: 1 }, 16],
  ['Services with that port', { services: 17, slices: 0, ofEach: 0 }, 'many'],
  ['Services', { services: 1024, port: 81, slices: 0, ofEach: 0 }, undefined],
  ['Services', { services: 1025, port: 81, slices: 0, ofEach: 0 }, 'many'],
  ['endpoints of them together', { services: 3, slices: 1, ofEach: 6 }, 'many'],
  ['slices of them together', { services: 2, slices: 8, ofEach: 0 }, 0],
  ['slices of them together', { services: 2, slices: 9, ofEach: 0 }, 'many'],
])('what is behind a published address is not known with too many %s: of %o', (_, given, found) => {
  const { services, port = 80, slices, ofEach } = given;
  const index = known();
  for (let number = 0; number < services; number++) {
    const name = `edge-${number}`;
    index.setService(service({ name, published: ['198.51.100.7'], ports: [{ ...http, port }] }), nine);
    const endpoints = Array.from({ length: ofEach }, (__, each) => backend({ address: `10.65.${number}.${each}` }));
    for (let slice = 0; slice < slices; slice++)
      index.setSlice(endpointSlice({ name: `${name}-${slice}`, service: name, endpoints }), nine);
  }
  const published = publishedTargets(index, '198.51.100.7');
  expect(typeof published === 'object' ? published.length : published).toBe(found);
});

test('while memory has no room for slices of a Namespace, endpoints of its Services are not known', () => {
  const account = { resource: 'endpointslices', leftOut: 1 };
  const memory = { ...unlimitedMemory(), accounts: [account] as unknown as MemoryBudget['accounts'] };
  const index = createChainIndex(defaultChainLimits, memory);
  for (const namespace of ['shop', 'batch']) {
    index.setService(service({ namespace, published: [`198.51.100.${namespace.length}`] }), nine);
    index.setSlice(endpointSlice({ namespace }), nine);
  }
  index.leaveOutSlice('shop', 'api-2');
  expect(targets(index, 80)).toBeUndefined();
  expect(publishedTargets(index, '198.51.100.4')).toBe('many');
  expect(publishedTargets(index, '198.51.100.5')).toEqual(['10.65.2.9']);
  account.leftOut = 0;
  expect(targets(index, 80)).toEqual(['10.65.2.9:8080']);
});

test('tombstones of a deleted port do not belong to a present Service', () => {
  const index = known();
  const chain = serviceChain('api', 'http', 'tcp');
  index.setService(service({ ports: [{ ...http, name: 'web' }], uid: 'as it is' }), nine);
  expect(described(index.ownerOf(chain))).toBe('api:http/tcp of as it is');
  index.removeService('shop', 'api', nine);
  expect(described(index.ownerOf(chain))).toBe('api:http/tcp of uid-of-api, deleted');
  index.setService(service({ uid: 'anew' }), nine);
  expect(described(index.ownerOf(chain))).toBe('api:http/tcp of anew');
});

test('tombstones: last a day, up to a limit', () => {
  const index = createChainIndex({ age: day, count: 2 });
  const chains = ['a', 'b', 'c'].map((name) => serviceChain(name, 'http', 'tcp'));
  for (const name of ['a', 'b', 'c']) index.setService(service({ name }), nine);
  for (const name of ['a', 'b', 'c']) index.removeService('shop', name, nine);
  expect(chains.map((chain) => index.ownerOf(chain)?.service.name)).toEqual([undefined, 'b', 'c']);
  index.sweep(nine + day - 1);
  expect(index.ownerOf(chains[2] ?? '')?.service.name).toBe('c');
  index.sweep(nine + day);
  expect(index.ownerOf(chains[2] ?? '')).toBeUndefined();
});

const ports = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('', 'http', 'dns'),
    port: fc.constantFrom(53, 80),
    protocol: fc.constantFrom<ServiceProtocol>('tcp', 'udp'),
  }),
  { maxLength: 3, selector: ({ name, protocol }) => `${name}/${protocol}` },
);
const services = ['api', 'web'];
const sliceNames = ['one', 'two', 'three'];
const addresses = ['10.65.1.4', '10.65.1.5', 'fd00:65::4'];

const edits = fc.oneof(
  fc.record({ kind: fc.constant('service' as const), name: fc.constantFrom(...services), ports }),
  fc.record({ kind: fc.constant('no service' as const), name: fc.constantFrom(...services) }),
  fc.record({
    kind: fc.constant('slice' as const),
    name: fc.constantFrom(...sliceNames),
    service: fc.constantFrom('', ...services),
    ports,
    endpoints: fc
      .subarray(addresses)
      .map((list) => list.map((address): Backend => backend({ address, pod: undefined }))),
  }),
  fc.record({ kind: fc.constant('no slice' as const), name: fc.constantFrom(...sliceNames) }),
  fc.constant({ kind: 'sweep' as const }),
);

type Edit = typeof edits extends fc.Arbitrary<infer T> ? T : never;

/** Remembers by name everything that ever existed, and when it was gone. */
function createModel() {
  const present = new Map<string, ServicePort[]>();
  const slices = new Map<string, Extract<Edit, { kind: 'slice' }>>();
  /** By chain: when it no longer existed. */
  const gone = new Map<string, number>();
  let sweptAt = -Infinity;

  return {
    apply(edit: Edit, now: number) {
      const before = chains();
      if (edit.kind === 'service') present.set(edit.name, edit.ports);
      else if (edit.kind === 'no service') present.delete(edit.name);
      else if (edit.kind === 'slice' && edit.service !== '') slices.set(edit.name, edit);
      else if (edit.kind === 'slice' || edit.kind === 'no slice') slices.delete(edit.name);
      else sweptAt = now;
      const after = chains();
      for (const chain of before) if (!after.has(chain)) gone.set(chain, now);
    },
    isKnown: (chain: string): boolean => chains().has(chain) || (gone.get(chain) ?? -Infinity) > sweptAt - day,
    exists: (name: string): boolean => present.has(name),
    slices,
    backends: (name: string) =>
      new Set(
        [...slices.values()]
          .filter((slice) => slice.service === name)
          .flatMap((slice) => slice.endpoints.map(({ address }) => address)),
      ),
  };

  function chains(): Set<string> {
    const all = new Set<string>();
    for (const [name, list] of present)
      for (const { name: port, protocol } of list) all.add(serviceChain(name, port, protocol));
    for (const { service: name, ports: list, endpoints } of slices.values())
      for (const { name: port, protocol, port: number } of list)
        for (const { address } of endpoints) all.add(endpointChain(name, port, protocol, hostAndPort(address, number)));
    return all;
  }
}

function apply(edit: Edit, index: ChainIndex, now: number): void {
  switch (edit.kind) {
    case 'service':
      return index.setService(service({ name: edit.name, ports: edit.ports }), now);
    case 'no service':
      return index.removeService('shop', edit.name, now);
    case 'slice': {
      const { kind: _, ...rest } = edit;
      return index.setSlice(endpointSlice(rest), now);
    }
    case 'no slice':
      return index.removeSlice('shop', edit.name, now);
    case 'sweep':
      return index.sweep(now);
    default:
      edit satisfies never;
  }
}

test('knows as much as a model that forgets nothing', () => {
  forAll(
    [fc.array(fc.record({ edit: edits, pause: fc.constantFrom(0, 1, day / 2, day) }), { maxLength: 25 })],
    {
      numRuns: 300,
    },
    (program) => {
      const index = createChainIndex();
      const model = createModel();
      let now = nine;
      for (const { edit, pause } of program) {
        now += pause;
        apply(edit, index, now);
        model.apply(edit, now);
      }
      expect(index.sliceCount).toBe(model.slices.size);
      for (const name of services) {
        expect(new Set(index.backendsOf('shop', name).map(({ address }) => address))).toEqual(model.backends(name));
        for (const port of ['', 'http', 'dns']) {
          for (const protocol of ['tcp', 'udp'] as const) {
            const chain = serviceChain(name, port, protocol);
            const owner = index.ownerOf(chain);
            expect(owner !== undefined).toBe(model.isKnown(chain));
            if (owner) expect(owner).toMatchObject({ service: { name }, protocol, deleted: !model.exists(name) });
            for (const endpoint of addresses.flatMap((address) =>
              [53, 80].map((number) => hostAndPort(address, number)),
            )) {
              const own = endpointChain(name, port, protocol, endpoint);
              const found = index.ownerOf(own);
              expect(found !== undefined).toBe(model.isKnown(own));
              if (found) expect(found).toMatchObject({ service: { name }, protocol, endpoint });
            }
          }
        }
      }
    },
  );
});

interface Change {
  name: string;
  service: 'api' | 'web';
  addresses: readonly string[];
  isGone: boolean;
}

const someAddresses = fc.uniqueArray(fc.constantFrom('10.65.2.1', '10.65.2.2', '10.65.2.3'), { maxLength: 3 });
const sliceChanges: fc.Arbitrary<Change[]> = fc.array(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    service: fc.constantFrom('api', 'web'),
    addresses: someAddresses,
    isGone: fc.boolean(),
  }),
  { maxLength: 20 },
);

test('chains prepared after each change have the owners that a complete search finds', async () => {
  const names = ['api', 'web'];
  const endpoints = ['10.65.2.1:8080', '10.65.2.2:8080', '10.65.2.3:8080'];
  const ofServices = names.map((name) => serviceChain(name, 'http', 'tcp'));
  const ofEndpoints = names.flatMap((name) => endpoints.map((each) => endpointChain(name, 'http', 'tcp', each)));
  const chains = [...ofServices, ...ofEndpoints];
  await forAllAsync([sliceChanges], { numRuns: 300 }, async (given) => {
    const [prepared, fresh] = [createChainIndex(), createChainIndex()];
    for (const { name, service: of, addresses: some, isGone } of given) {
      for (const index of [prepared, fresh]) {
        const backends = some.map((address) => backend({ address }));
        if (isGone) index.removeSlice('shop', name, nine);
        else index.setSlice(endpointSlice({ name, service: of, endpoints: backends }), nine);
        if (isGone && name === 'a') index.removeService('shop', of, nine);
        else if (name === 'a') index.setService(service({ name: of, ports: [http] }), nine);
      }
      await prepared.prepare(chains);
    }
    expect(chains.map((chain) => prepared.foundOwnerOf(chain))).toEqual(chains.map((chain) => fresh.ownerOf(chain)));
  });
});

test('ports past those that are kept of a slice or a Service may have further targets', () => {
  const index = createChainIndex();
  const others = Array.from({ length: 16 }, (_, number) => ({ ...http, name: `other-${number}`, port: 1000 + number }));
  index.setService(service({ ports: [http], published: ['198.51.100.7'] }), nine);
  index.setSlice(endpointSlice({ endpoints: [backend()], ports: [http] }), nine);
  index.setSlice(endpointSlice({ name: 'api-2', ports: others.slice(1) }), nine);
  expect(targets(index, 80)).toEqual(['10.65.2.9:80']);
  index.setSlice(endpointSlice({ name: 'api-2', ports: others }), nine);
  expect(targets(index, 80)).toBeUndefined();
  expect(publishedTargets(index, '198.51.100.7')).toBe('many');
  index.setService(service({ ports: others, published: ['198.51.100.7'] }), nine);
  expect(publishedTargets(index, '198.51.100.7')).toBe('many');
  index.setService(service({ ports: others.slice(1), published: ['198.51.100.7'] }), nine);
  expect(publishedTargets(index, '198.51.100.7')).toBeUndefined();
});
