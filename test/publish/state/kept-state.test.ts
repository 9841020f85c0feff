import { expect, test } from 'vitest';
import { createKeyedChanges } from '../../../src/base/platform/keyed-changes.ts';
import { createKeptState, type KeptParts, readKeptValues } from '../../../src/publish/state/kept-state.ts';

/** An agent that follows one file and has counted one problem; `now` has the content of its parts. */
function rig() {
  const source: { name: string; position: object | undefined } = { name: 'kern.log', position: undefined };
  const now = { heard: 'nothing', incidents: 'none', budget: 10, rest: 'hours' };
  const [table, incidents, budget] = [{ revision: 100 }, { revision: 10 }, { revision: 1 }];
  const objects = new Map<string, object>([['shop/web', { count: 1 }]]);
  const waiting = new Map<string, object>([['flow', { packets: 1 }]]);
  const changes = createKeyedChanges('object', objects);
  const parts = {
    agent: { id: 'x', node: 'node-a' },
    sources: [source, { name: 'stdin', position: undefined }],
    dedupe: { state: () => now.heard },
    table: Object.assign(table, { takeChanges: changes.take, entries: changes.entries, totals: () => now.rest }),
    queue: { changes: createKeyedChanges('waiting', waiting) },
    incidents: Object.assign(incidents, { state: () => now.incidents }),
    budget: Object.assign(budget, { state: () => now.budget }),
  };
  return { source, now, table, incidents, budget, parts, kept: createKeptState(parts as unknown as KeptParts) };
}

/** The keys and values of changes, whether or not they are JSON. */
const read = (changes: Iterable<unknown>) =>
  [...changes].map((change) => {
    const [, key, value] = (typeof change === 'string' ? JSON.parse(change) : change) as [string, string, unknown];
    return [key, value];
  });

test('everything is taken at first, then each part that differs from its last version', () => {
  const { kept, now, source } = rig();
  const parts = [
    ['agent', { id: 'x', node: 'node-a' }],
    ['once', 'nothing'],
    ['incidents', 'none'],
    ['budget', 10],
    ['series', 'hours'],
  ];
  const tables = [
    ['object shop/web', { count: 1 }],
    ['waiting flow', { packets: 1 }],
  ];
  expect(read(kept.takeChanges())).toEqual([...parts, ...tables]);
  expect(read(kept.takeChanges())).toEqual([]);
  source.position = { offset: 7 };
  now.budget = 9;
  expect(read(kept.takeChanges())).toEqual([
    ['position kern.log', { offset: 7 }],
    ['budget', 9],
  ]);
  now.budget = 10;
  expect(read(kept.takeChanges())).toEqual([['budget', 10]]);
  expect(read(kept.all())).toEqual([parts[0], ['position kern.log', { offset: 7 }], ...parts.slice(1), ...tables]);
  expect(readKeptValues(new Map(read(kept.all()) as [string, unknown][]))).toMatchObject({
    positions: { 'kern.log': { offset: 7 } },
  });
});

test('a change of any table, incident or write changes the revision', () => {
  const { parts, table, incidents, budget } = rig();
  const [waiting, audit, pods] = [{ revision: 1000 }, { revision: 5 }, { revision: 7 }];
  const given = { ...parts, queue: { changes: waiting }, audit, pods: { changes: pods } };
  const kept = createKeptState(given as unknown as KeptParts);
  const before = kept.revision();
  const after = [table, incidents, budget, waiting, audit, pods].map((part) => (part.revision++, kept.revision()));
  expect(after).toEqual([1, 2, 3, 4, 5, 6].map((changes) => before + changes));
});

test('changes that were taken are read as one state', () => {
  const { kept } = rig();
  expect(readKeptValues(new Map(read(kept.all()) as [string, unknown][]))).toMatchObject({
    id: 'x',
    node: 'node-a',
    positions: {},
    once: 'nothing',
    incidents: 'none',
    budget: 10,
    series: { objects: [['shop/web', { count: 1 }]] },
    waiting: [{ packets: 1 }],
  });
});

test('parts that only some agents have are kept if they exist', () => {
  const { parts } = rig();
  const kept = (given: object): string[] =>
    read(createKeptState({ ...parts, ...given } as unknown as KeptParts).all()).map(([key]) => String(key));
  expect(kept({})).not.toContain('alive');
  const changes = createKeyedChanges('flow', new Map([['web', {}]]));
  const extra = {
    progress: () => 'rows',
    alive: () => 9,
    changes,
    takeChanges: changes.take,
    entries: changes.entries,
  };
  expect(kept({ audit: extra })).toEqual(expect.arrayContaining(['audit', 'flow web']));
  expect(kept({ pods: extra })).toEqual(expect.arrayContaining(['alive', 'flow web']));
});

test('each part is read when it is taken, because a later one may change meanwhile', () => {
  const { kept, now } = rig();
  const all = kept.all();
  all.next();
  now.budget = 3;
  expect(read(all)).toContainEqual(['budget', 3]);
});
