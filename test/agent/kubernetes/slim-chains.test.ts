import { expect, test } from 'vitest';
import { slimEndpointSlice, slimPod, slimService, UnusableObject } from '../../../src/agent/kubernetes/slim.ts';
import { endpointsIn } from '../../../src/explain/resolving/objects.ts';
import { clock } from '../../builders.ts';

type Fields = Record<string, unknown>;

const metadata = { name: 'api', namespace: 'shop' };

const pod = (status: Fields, more: Fields = {}) => slimPod({ metadata: { ...metadata, ...more }, status });
test('a Pod that is being deleted is not expected to be ready', () => {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };
  expect(pod(status, { deletionTimestamp: '2026-11-21T09:00:00Z' }).problem).toBeUndefined();
});

test.each([
  ['Pending', true],
  ['Running', true],
  ['Unknown', true],
  ['Succeeded', false],
  ['Failed', false],
])('a Pod’s problem: %s: running is %j', (phase, expected) => {
  expect(pod({ phase }).running).toBe(expected);
});

test("a Pod's last restart is the latest one of all its containers", () => {
  const times = ['2026-11-21T09:01:00Z', '2026-11-21T09:05:00Z', undefined, 'some time'];
  const containerStatuses = times.map((finishedAt) => ({
    restartCount: 1,
    state: { running: {} },
    lastState: finishedAt === undefined ? {} : { terminated: { exitCode: 1, finishedAt } },
  }));
  expect(pod({ phase: 'Running', containerStatuses }).restarted).toBe(clock('09:05:00'));
  expect(pod({ phase: 'Failed', containerStatuses }).restarted).toBeUndefined();
  expect(pod({ phase: 'Running', containerStatuses: 'none' }).restarted).toBeUndefined();
});

const portsOf = (ports: unknown) => slimService({ metadata, spec: { ports } }).ports;

test("a Service's ports have a name and a protocol, or are left out", () => {
  expect(
    portsOf([
      { name: 'dns', port: 53, protocol: 'UDP', targetPort: 'dns', nodePort: 30_053 },
      { name: 'dns-tcp', port: 53 },
      { port: 9, protocol: 'SCTP' },
    ]),
  ).toEqual([
    { name: 'dns', port: 53, protocol: 'udp' },
    { name: 'dns-tcp', port: 53, protocol: 'tcp' },
    { name: '', port: 9, protocol: 'sctp' },
  ]);
});

test.each([[undefined], [null], ['80'], [[{ port: '80' }]], [[{ port: 80, protocol: 'ICMP' }]], [[null]]])(
  "a Service's ports that are invalid are left out: %j",
  (ports) => {
    expect(portsOf(ports)).toEqual([]);
  },
);

test('Services with equal ports share one list', () => {
  expect(portsOf([{ name: 'http', port: 80 }])).toBe(portsOf([{ name: 'http', port: 80, protocol: 'TCP' }]));
});

test('only the first 16 ports of a Service are kept, because a tenant may set tens of thousands', () => {
  const many = Array.from({ length: 30_000 }, (_, index) => ({ name: `p${index}`, port: index + 1 }));
  expect(portsOf(many).map(({ port }) => port)).toEqual(many.slice(0, 16).map(({ port }) => port));
});

const slice = (fields: Fields = {}) =>
  slimEndpointSlice({
    metadata: { ...metadata, resourceVersion: '6', labels: { 'kubernetes.io/service-name': 'api' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ...fields,
  });
const endpointsOf = (...endpoints: unknown[]) => endpointsIn(slice({ endpoints }));

test('slimEndpointSlice keeps these fields', () => {
  expect(slice({ endpoints: [] })).toEqual({
    namespace: 'shop',
    name: 'api',
    resourceVersion: '6',
    service: 'api',
    ports: [{ name: 'http', port: 8080, protocol: 'tcp' }],
    endpoints: '[]',
  });
  expect(slice({ metadata }).service).toBe('');
  expect(() => slimEndpointSlice({ metadata: { name: 'api' } })).toThrow(UnusableObject);
});

test('each endpoint is a Pod of the same Namespace, or an address without a Pod', () => {
  const targetRef = { kind: 'Pod', namespace: 'shop', name: 'api-0' };
  expect(
    endpointsOf(
      { addresses: ['10.65.2.9', '10.65.2.99'], nodeName: 'node-b', targetRef, conditions: { ready: true } },
      { addresses: ['10.65.2.10'], nodeName: 'node-c', targetRef: { ...targetRef, name: 'api-1' } },
      { addresses: ['10.65.2.11'], targetRef: { kind: 'Pod', name: 'api-2' }, conditions: { ready: false } },
      { addresses: ['2001:DB8::1'], targetRef: { kind: 'Node', name: 'node-b' }, conditions: { ready: null } },
      { addresses: ['10.65.2.12'], targetRef: { kind: 'Pod', namespace: 'batch', name: 'api-0' } },
    ),
  ).toEqual([
    { address: '10.65.2.9', pod: { namespace: 'shop', name: 'api-0' }, node: 'node-b', ready: true },
    { address: '10.65.2.10', pod: { namespace: 'shop', name: 'api-1' }, node: 'node-c', ready: true },
    { address: '10.65.2.11', pod: { namespace: 'shop', name: 'api-2' }, node: undefined, ready: false },
    { address: '2001:db8::1', pod: undefined, node: undefined, ready: true },
    { address: '10.65.2.12', pod: undefined, node: undefined, ready: true },
  ]);
});

test.each([
  [
    { ready: false, serving: true, terminating: true },
    { ready: false, isDraining: true },
  ],
  [
    { ready: false, terminating: true },
    { ready: false, isDraining: true },
  ],
  [{ ready: false, serving: false, terminating: true }, { ready: false }],
  [{ ready: false, serving: true, terminating: false }, { ready: false }],
  [{ ready: false, serving: true }, { ready: false }],
  [{ ready: true, serving: true, terminating: true }, { ready: true }],
  [{ serving: true, terminating: true }, { ready: true }],
  [{ ready: false, serving: true, terminating: 'true' }, { ready: false }],
])('an endpoint with the conditions %o is read as %o', (conditions, expected) => {
  expect(endpointsOf({ addresses: ['10.65.2.9'], conditions })).toEqual([
    { address: '10.65.2.9', pod: undefined, node: undefined, ...expected },
  ]);
});

test.each([[null], [{}], [{ addresses: [] }], [{ addresses: ['db.example.org'] }], [{ addresses: 'a' }]])(
  'slimEndpointSlice leaves out an invalid endpoint: %j',
  (endpoint) => {
    expect(endpointsOf(endpoint)).toEqual([]);
  },
);

test('slimEndpointSlice keeps the first valid ports, so that ports without a number do not hide others', () => {
  const ports = [
    ...Array.from({ length: 16 }, (_, number) => ({ name: `any-${number}` })),
    ...Array.from({ length: 17 }, (_, number) => ({ name: `port-${number}`, port: 1000 + number, protocol: 'TCP' })),
  ];
  const { ports: kept } = slimEndpointSlice({
    metadata: { namespace: 'shop', name: 'api' },
    ports,
    endpoints: [],
  });
  expect(kept.map(({ port }) => port)).toEqual(Array.from({ length: 16 }, (_, number) => 1000 + number));
});
