import { expect, test } from 'vitest';
import { createNodeConditionWriter } from '../../src/agent/node-checks.ts';
import type { Refusal } from '../../src/publish/events/event-writer.ts';
import type { Incident } from '../../src/explain/incidents/incident.ts';
import type { NodeCondition } from '../../src/agent/kubernetes/written-objects.ts';
import { nine } from '../builders.ts';
import { refusal } from '../publish/events/memory-store.ts';

const [second, minute] = [1000, 60_000];
const broken = { code: 'KN102', failing: 'kube-proxy', phase: 'open', first: nine, last: nine } as Incident;
const kept: NodeCondition = {
  type: 'NetfilterRulesStale',
  status: 'True',
  reason: 'ServiceChainMissing',
  message: 'of an earlier run',
  lastHeartbeatTime: '2026-11-21T08:00:00Z',
  lastTransitionTime: '2026-11-21T07:00:00Z',
};

interface Scene {
  condition?: NodeCondition;
  nodes?: number;
  refuse?: (verb: 'read' | 'write') => Refusal | undefined;
}

/** Sets up a node of a small cluster. Random values are in the middle of their range. */
function scene({ condition, nodes = 1, refuse = () => undefined }: Scene = {}) {
  let now = nine;
  let stored = condition;
  const incidents: Incident[] = [];
  const asked: ('read' | 'write')[] = [];
  const reported: string[] = [];
  const writer = createNodeConditionWriter({
    node: 'node-a',
    incidents: () => incidents,
    nodeCount: () => nodes,
    store: {
      read() {
        asked.push('read');
        return Promise.resolve(refuse('read') ?? { kind: 'read', condition: stored });
      },
      write(written) {
        asked.push('write');
        const refused = refuse('write');
        if (refused === undefined) stored = written;
        return Promise.resolve(refused ?? { kind: 'written' });
      },
    },
    problems: { nodeCondition: (verb, refused) => void reported.push(`${verb} ${refused?.status ?? 'ok'}`) },
    clock: { now: () => now, wall: () => now, toWall: (time) => time },
    random: () => 0.5,
  });
  return {
    incidents,
    asked,
    reported,
    condition: () => stored,
    /** Housekeeping calls it every five seconds. */
    pass: async (time: number): Promise<void> => {
      for (const end = now + time; now < end; now += 5 * second) await writer.round();
    },
  };
}

test('if the Node has no condition, it is written once, and nothing more is written while all is well', async () => {
  const { asked, condition, pass } = scene();
  await pass(120 * minute);
  expect(condition()).toMatchObject({ status: 'False', reason: 'NetfilterRulesCurrent' });
  expect(asked).toEqual(['read', 'write']);
});

test('a condition that is already right is read and not written', async () => {
  const first = scene();
  await first.pass(minute);
  const { asked, pass } = scene({ condition: first.condition() as NodeCondition });
  await pass(120 * minute);
  expect(asked).toEqual(['read']);
});

test('the condition becomes True when the incident begins, with that time, and False when it ends', async () => {
  const { incidents, condition, pass } = scene();
  await pass(2 * minute);
  incidents.push({ ...broken, opened: nine + 2 * minute });
  await pass(minute);
  expect(condition()).toMatchObject({
    status: 'True',
    reason: 'ServiceChainMissing',
    lastTransitionTime: '2026-11-21T09:02:00Z',
    lastHeartbeatTime: '2026-11-21T09:02:05Z',
  });
  incidents.pop();
  await pass(2 * minute);
  expect(condition()).toMatchObject({ status: 'False', lastTransitionTime: expect.stringMatching(/T09:03:/) });
});

test('while the condition is True, it has a heartbeat every ten minutes and keeps the time of its beginning', async () => {
  const { incidents, asked, condition, pass } = scene();
  incidents.push(broken);
  await pass(61 * minute);
  expect(asked.filter((verb) => verb === 'write')).toHaveLength(7);
  expect(condition()).toMatchObject({
    lastTransitionTime: '2026-11-21T09:00:00Z',
    lastHeartbeatTime: expect.stringMatching(/T10:00:/),
  });
});

test('an agent without state clears the condition of an earlier run', async () => {
  const { condition, pass } = scene({ condition: kept });
  await pass(minute);
  expect(condition()).toMatchObject({ status: 'False', lastTransitionTime: expect.stringMatching(/T09:00:/) });
});

test('a condition of an earlier run continues if the state says that it lasts', async () => {
  const { incidents, condition, pass } = scene({ condition: kept });
  incidents.push(broken);
  await pass(minute);
  expect(condition()).toMatchObject({ status: 'True', lastTransitionTime: kept.lastTransitionTime });
});

test('the condition of a Node is written at most once a minute, however often incidents come and go', async () => {
  const { incidents, asked, pass } = scene();
  for (let each = 0; each < 60; each++) {
    if (each % 2 === 0) incidents.push(broken);
    else incidents.pop();
    await pass(10 * second);
  }
  expect(asked.filter((verb) => verb === 'write').length).toBeLessThanOrEqual(10);
});

test('the conditions of 5,000 nodes are written over more than a minute: this Node, in the middle, 37 s later', async () => {
  const { incidents, asked, pass } = scene({ nodes: 5000 });
  await pass(5 * minute);
  incidents.push(broken);
  const before = asked.length;
  await pass(35 * second);
  expect(asked).toHaveLength(before);
  await pass(10 * second);
  expect(asked).toHaveLength(before + 1);
});

test.each([9e15, -9e15, NaN, nine + 86_400_000])(
  'a log with the stamp %d causes neither a condition in the future nor a crash',
  async (opened) => {
    const { incidents, condition, pass } = scene();
    incidents.push({ ...broken, first: opened, opened });
    await pass(minute);
    expect(Date.parse(condition()?.lastTransitionTime ?? '')).toBeLessThanOrEqual(nine + minute);
  },
);

test('a refused write is reported, tried again with growing pauses, and resolved when it is accepted', async () => {
  let refused = true;
  const { asked, reported, pass } = scene({
    refuse: (verb) => (refused && verb === 'write' ? refusal(403, 'Forbidden') : undefined),
  });
  await pass(60 * minute);
  expect(asked.length).toBeLessThan(20);
  refused = false;
  await pass(10 * minute);
  expect(reported.at(-1)).toBe('patch ok');
  expect(new Set(reported)).toEqual(new Set(['list ok', 'patch 403', 'patch ok']));
});

test('after a refused read nothing is written, because the present condition is unknown', async () => {
  const { asked, pass } = scene({ refuse: () => refusal(503) });
  await pass(30 * minute);
  expect(new Set(asked)).toEqual(new Set(['read']));
});

test('a refusal with a time to wait delays the next try by that time', async () => {
  const { asked, pass } = scene({ refuse: () => refusal(429, 'TooManyRequests', 5 * minute) });
  await pass(5 * minute);
  expect(asked).toEqual(['read']);
});
