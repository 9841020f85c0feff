/** Tests against known mistakes of policy evaluators. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { orient } from '../../../src/base/model/flow-identity.ts';
import { TcpFlag } from '../../../src/base/model/packet.ts';
import { connectionOf, type End } from '../../../src/explain/policies/policies.ts';
import { packet } from '../../builders.ts';
import { calico, clusterNetworkPolicy, evaluator, networkPolicy } from './objects.ts';
import { check, connection, end, namespaces, postgres, rowsOf, worker } from './rows.ts';

test.each(rowsOf(join(import.meta.dirname, 'semantics.txt')))('%s', (_, row) => check(row));

const byAddress = (address: string): End => end(address === '10.65.2.9' ? worker : postgres);

/** Policies are stateful: the verdict is about the connection to which a packet belongs. */
const { SYN, ACK } = TcpFlag;
const policies = [
  networkPolicy({
    ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'batch' } } }], ports: [{ port: 5432 }] }],
  }),
  networkPolicy({}, 'policy', 'batch'),
];
const request = { source: '10.65.2.9', destination: '10.65.1.4', sourcePort: 40_112, destinationPort: 5432 };
const answer = { source: '10.65.1.4', destination: '10.65.2.9', sourcePort: 5432, destinationPort: 40_112 };
test.each([
  ['14: a SYN is judged as it is', packet({ ...request, tcpFlags: SYN }), 'admits'],
  ['14: a SYN-ACK is judged as the SYN that it answers', packet({ ...answer, tcpFlags: SYN | ACK }), 'admits'],
  ['14: a later packet back to a client port is judged as the request', packet({ ...answer, tcpFlags: ACK }), 'admits'],
  [
    '14: an answer over UDP is judged as the request',
    packet({ ...answer, protocol: 'UDP', tcpFlags: undefined }),
    'denies',
  ],
  ['14: a SYN from the port of a service is a connection of its own', packet({ ...answer, tcpFlags: SYN }), 'denies'],
] as const)('the reply to a connection: %s', (_title, observed, expected) => {
  const ends = { source: byAddress(observed.source), destination: byAddress(observed.destination) };
  const observedFlow = connectionOf(observed, ends, orient(observed));
  expect(evaluator(policies, namespaces).verdict(observedFlow, 'ingress').outcome).toBe(expected);
});

test('13: a logged packet of a Pod to itself came through a Service', () => {
  const observed = packet({ source: '10.65.1.4', destination: '10.65.1.4', tcpFlags: SYN });
  const itself = connectionOf(observed, { source: end(postgres), destination: end(postgres) }, orient(observed));
  expect(itself.viaService).toBe(true);
});

test("18: the time of a policy's change is part of the decision, because no API shows when it is enforced", () => {
  const metadata = {
    namespace: 'shop',
    name: 'changed',
    creationTimestamp: '2026-11-21T08:00:00Z',
    managedFields: [{ time: '2026-11-21T08:59:56Z' }, { time: '2026-11-21T08:30:00Z' }],
  };
  const policy = { ...networkPolicy({ ingress: [{}] }), metadata };
  const { decision } = evaluator([policy], namespaces).verdict(connection, 'ingress');
  expect(decision?.changed).toBe(Date.parse('2026-11-21T08:59:56Z'));
});

const all = { namespaces: {} };
const rules = ['Mirror', 'Deny'].map((action) => ({ action, from: [all] }));
test.each([
  ['Calico', calico('NetworkPolicy', { ingress: [{ action: 'Mirror' }, { action: 'Deny' }] }, 'p', 'shop')],
  ['the cluster', clusterNetworkPolicy({ tier: 'Admin', priority: 1, subject: all, ingress: rules })],
])('a rule of %s after one with an unknown action is named by its place', (_title, policy) => {
  const [traced] = evaluator([policy], namespaces).trace(connection, 'ingress').policies;
  expect(traced?.rules.map(({ path }) => path)).toEqual(['ingress[0]', 'ingress[0]', 'ingress[0]', 'ingress[1]']);
});
