import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createSeriesTable } from '../../src/series/table.ts';
import { type AgentState, restoreState } from '../../src/state/agent-state.ts';
import { writeState } from '../../src/state/state-file.ts';
import { createLookupQueue } from '../../src/pipeline/lookup-queue.ts';
import { finding, line, nine, observation } from '../builders.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const path = temporaryFolder();
const now = new Date(nine);
const aside = (name: string): string => path(`${name}.unusable-2026-11-21T090000Z`);
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

function agentState(node = 'node-a'): AgentState {
  const table = createSeriesTable();
  table.count(finding(), nine, 3);
  const room = createLookupQueue(10);
  room.admit(line(), observation(), nine);
  return {
    id: 'the id',
    node,
    positions: { '/var/log/kern.log': { inode: 12, offset: 345, head: 'abc', end: false } },
    once: { sources: [], awaited: [], left: 0 },
    series: table.state(),
    waiting: room.flows,
  };
}

test('what was kept is restored, and goes on under its id', async () => {
  await writeState(path('kept'), JSON.stringify(agentState()));
  const restored = restoreState(path('kept'), 'node-a', now);
  expect(restored).toMatchObject({ id: 'the id', first: false, problem: undefined });
  expect(restored.state).toEqual(agentState());
  const table = createSeriesTable({ restored: restored.state?.series });
  expect(table.due(Infinity)).toMatchObject([{ count: 3, published: { writes: 0, at: null } }]);
  expect(createLookupQueue(10, restored.state?.waiting).has(line(), observation())).toBe(true);
});

test('where nothing was kept, it is the first run, under an id of its own', () => {
  const restored = restoreState(path('none'), 'node-a', now);
  expect(restored).toMatchObject({
    state: undefined,
    id: expect.stringMatching(uuid),
    problem: undefined,
    first: true,
  });
  expect(restoreState(path('none'), 'node-a', now).id).not.toBe(restored.id);
});

test('what another node has kept is set aside', async () => {
  await writeState(path('other'), JSON.stringify(agentState('node-b')));
  const { state, id, problem, first } = restoreState(path('other'), 'node-a', now);
  expect({ state, first }).toEqual({ state: undefined, first: false });
  expect(id).toMatch(uuid);
  expect(problem).toBe(
    `${path('other')} cannot be used: it is of node node-b, this is node-a. It was set aside as ${aside('other')}; starting with nothing counted`,
  );
  expect(readFileSync(aside('other'), 'utf8')).toContain('node-b');
  expect(restoreState(path('other'), 'node-a', now)).toMatchObject({ first: true });
});

test('what is damaged is set aside', () => {
  writeFileSync(path('damaged'), 'damaged');
  const { state, id, problem, first } = restoreState(path('damaged'), 'node-a', now);
  expect({ state, first }).toEqual({ state: undefined, first: false });
  expect(id).toMatch(uuid);
  expect(problem).toContain(`${path('damaged')} cannot be used: it is no state file of this program`);
  expect(problem).toContain(`set aside as ${aside('damaged')}`);
});

test('a damaged state that cannot be moved away stays, and the problem says so', () => {
  writeFileSync(path('stuck'), 'damaged');
  mkdirSync(aside('stuck'));
  const { problem } = restoreState(path('stuck'), 'node-a', now);
  expect(problem).toContain('It could not be moved away; starting with nothing counted');
});

test('a state that cannot be read stays where it is, and the problem says so', () => {
  mkdirSync(path('folder'));
  const { state, id, problem, first } = restoreState(path('folder'), 'node-a', now);
  expect({ state, first }).toEqual({ state: undefined, first: false });
  expect(id).toMatch(uuid);
  expect(problem).toMatch(/folder cannot be read \(it is a folder\): starting with nothing counted$/);
});

test.each(['null', '7', '[]', '{}', '{"id":"x"}'])(
  'what is whole but no state of an agent is set aside: %s',
  async (body) => {
    await writeState(path('odd'), body);
    expect(restoreState(path('odd'), 'node-a', now)).toMatchObject({
      state: undefined,
      id: expect.stringMatching(uuid),
    });
    expect(readFileSync(aside('odd'), 'utf8')).toContain(body);
  },
);
