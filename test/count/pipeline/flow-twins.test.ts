import { expect, test } from 'vitest';
import { createFlowTwins } from '../../../src/count/pipeline/twins.ts';
import type { Finding, FlowDetails } from '../../../src/base/model/finding.ts';
import { connectFailure } from '../../../src/base/model/packet.ts';
import { finding, flow, nine, podRef } from '../../builders.ts';

/** Tests that a packet of Calico counts once if both a LOG line and a flow report it. */

const receiving: Partial<FlowDetails> = { enforcer: 'network-policy', direction: 'receiving', refusedBy: 'receiver' };

function findingOf(details: Partial<FlowDetails>, pod = 'db-0', node = 'node-a', namespace = 'shop') {
  return finding({ regarding: podRef(pod, namespace), node, details: flow({ ...receiving, ...details }) });
}

function lostOf(findings: Finding[], logger = 'calico-flow') {
  return { observation: { logger }, meaning: { findings } };
}

function logged(
  twins: ReturnType<typeof createFlowTwins>,
  packets: number,
  given = findingOf({ logger: 'netfilter' }),
  time = nine,
): void {
  twins.note({ findings: [given] }, packets, time);
}

function flowed(
  twins: ReturnType<typeof createFlowTwins>,
  packets: number,
  details: Partial<FlowDetails> = {},
  time = nine,
): number {
  return twins.uncounted(lostOf([findingOf({ logger: 'calico-flow', ...details })]), packets, time);
}

test('a flow counts only packets that its lines have not shown', () => {
  const twins = createFlowTwins(true);
  logged(twins, 3);
  logged(twins, 2);
  expect(flowed(twins, 4)).toBe(0);
  expect(flowed(twins, 4)).toBe(3);
  expect(flowed(twins, 4)).toBe(4);
  const sender: Partial<FlowDetails> = { direction: 'sending', refusedBy: 'sender' };
  logged(twins, 3, findingOf({ logger: 'netfilter', ...sender }));
  expect(flowed(twins, 4, sender)).toBe(1);
});

test('a connection that failed is the first packet of a flow that comes later, which counts the repeats', () => {
  const twins = createFlowTwins(true);
  logged(twins, 2, findingOf({ logger: connectFailure, direction: 'sending', refusedBy: undefined }));
  expect(flowed(twins, 6, { direction: 'sending', refusedBy: 'sender' })).toBe(4);
});

test('lines of another Pod of the workload belong to it, because a flow does not show which Pod it was', () => {
  const twins = createFlowTwins(true);
  logged(twins, 3, findingOf({ logger: 'netfilter' }, 'db-1'));
  expect(flowed(twins, 5)).toBe(2);
});

test.each<[string, Partial<FlowDetails>, string?, string?, string?]>([
  ['port', { port: 443 }],
  ['protocol', { protocol: 'UDP' }],
  ['direction', { direction: 'sending', refusedBy: 'sender' }],
  ['side that refused', { refusedBy: 'sender' }],
  ['enforcer', { enforcer: 'host-firewall' }],
  ['workload', {}, 'web-0'],
  ['namespace', {}, 'db-0', 'node-a', 'other'],
  ['node', {}, 'db-0', 'node-b'],
])('lines of another %s are other packets', (_, details, pod, node, namespace) => {
  const twins = createFlowTwins(true);
  logged(twins, 3, findingOf({ logger: 'netfilter', ...details }, pod, node, namespace));
  expect(flowed(twins, 3)).toBe(3);
});

test('lines older than the longest interval are other packets', () => {
  const twins = createFlowTwins(true);
  logged(twins, 3);
  expect(flowed(twins, 3, {}, nine + 600_001)).toBe(3);
  expect(flowed(twins, 3, {}, nine + 600_000)).toBe(0);
});

test('flows are not matched with flows, nor lines with lines', () => {
  const twins = createFlowTwins(true);
  expect(flowed(twins, 3)).toBe(3);
  twins.note({ findings: [findingOf({ logger: 'calico-flow' })] }, 3, nine);
  expect(flowed(twins, 3)).toBe(3);
  logged(twins, 3);
  expect(twins.uncounted(lostOf([findingOf({ logger: 'netfilter' })], 'netfilter'), 3, nine)).toBe(3);
  expect(twins.uncounted(lostOf([]), 3, nine)).toBe(3);
});

test('by default lines are remembered from the first flow on', () => {
  const twins = createFlowTwins();
  logged(twins, 3);
  expect(flowed(twins, 3)).toBe(3);
  logged(twins, 3);
  expect(flowed(twins, 3)).toBe(0);
});
