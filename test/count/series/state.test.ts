import fc from 'fast-check';
import { expect, type Mock, test, vi } from 'vitest';
import { seriesStateIn, stateOf } from './state-of.ts';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Suppressed } from '../../../src/base/model/observation.ts';
import type { Series, SeriesState } from '../../../src/base/model/series.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { beginAll, publish } from './writing.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import { windowLength, windowOf } from '../../../src/count/series/times.ts';
import { finding, flow, incident, nine, podRef, workerEnd } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;

/** The start of a window of the Pod that the tests use. */
const start = windowOf(nine, podRef().uid).end;

const limits = { perObject: 2, total: 8 };

type Problem = [port: number, object: string] | 'conntrack';

function findingOf(problem: Problem): Finding {
  if (problem === 'conntrack') return incident({ identity: 'conntrack' });
  const [port, object] = problem;
  const details = flow({ port, peer: workerEnd(port), martian: port === 1 });
  return finding({ identity: `${object} ${port}`, regarding: podRef(object), details });
}

type Step =
  | { kind: 'count'; problem: Problem; late: number; weight: number }
  | { kind: 'suppress'; affects: Suppressed['affects'] }
  | { kind: 'pass'; time: number }
  /** Publishes what is due, except the last `less` packets of each series. */
  | { kind: 'publish'; less: number }
  | { kind: 'refused' | 'postponed'; later: number }
  | { kind: 'abandoned' };

const step = fc.oneof<fc.Arbitrary<Step>[]>(
  fc.record({
    kind: fc.constant('count'),
    problem: fc.oneof<fc.WeightedArbitrary<Problem>[]>(
      { weight: 5, arbitrary: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.constantFrom('web-0', 'web-1')) },
      { weight: 1, arbitrary: fc.constant('conntrack') },
    ),
    late: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 20 * second })),
    weight: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('suppress'),
    affects: fc.constantFrom('everything', 'kernel-warnings', 'connections', 'felix', 'nothing'),
  }),
  fc.record({
    kind: fc.constant('pass'),
    time: fc.oneof(
      fc.integer({ min: 0, max: 3 * second }),
      fc.integer({ min: 0, max: 20 * minute }),
      fc.integer({ min: windowLength / 2, max: 2 * windowLength }),
    ),
  }),
  fc.record({ kind: fc.constant('publish'), less: fc.oneof(fc.constant(0), fc.nat(2)) }),
  fc.record({ kind: fc.constantFrom('refused', 'postponed'), later: fc.integer({ min: 0, max: 2 * minute }) }),
  fc.record({ kind: fc.constant('abandoned') }),
);

const program = fc.array(step, { maxLength: 40 });

/** Applies one step to a table. `publish`, `refused`, `postponed` and `abandoned` apply to all series that are due. */
function act(table: SeriesTable, one: Step, now: number): void {
  switch (one.kind) {
    case 'count':
      return table.count(findingOf(one.problem), now - one.late, one.weight);
    case 'suppress':
      return table.suppress(report(one.affects), 'node-a', now);
    case 'pass':
      return;
    default:
      for (const series of table.due(now)) {
        if (one.kind === 'publish') publish(table, series, now, one.less);
        else if (one.kind === 'abandoned') table.end(series, { kind: one.kind });
        else table.end(series, { kind: one.kind, until: now + one.later });
      }
  }
}

const report = (affects: Suppressed['affects']): Suppressed => ({ kind: 'suppressed', by: 'x', count: 1, affects });

const byName = (all: Series[]): unknown =>
  Object.fromEntries(all.map((each) => [`${each.finding.identity} ${each.window}`, each]));

/** Everything that can be seen of a table. Series that are over and published may be forgotten sooner or later. */
function view(table: SeriesTable, now: number): unknown {
  const next = table.nextDue();
  const due = table.due(now);
  const { clock, series, past, objects, ...rest } = stateOf(table);
  return {
    next,
    order: due.map(({ finding: { identity } }) => identity),
    nextAfter: table.nextDue(),
    backlog: table.backlog(now),
    pending: table.sizes.pending,
    ...rest,
    clock,
    past: byName(past),
    series: byName(series.filter((each) => each.due !== null || each.windowEnd > (clock ?? 0))),
    objects: Object.fromEntries(
      objects.filter(([object, { window }]) => window >= windowOf(clock ?? 0, object).number),
    ),
  };
}

/** Compares a table with a copy that was restored after the steps `before`. */
function compare({ before, after, wall }: { before: Step[]; after: Step[]; wall: boolean }): void {
  let time = start;
  const options = { limits, now: wall ? () => time : undefined };
  const table = createSeriesTable(options);
  for (const one of before) {
    if (one.kind === 'pass') time += one.time;
    act(table, one, time);
  }
  const copy = createSeriesTable({ ...options, restored: stateOf(table) });
  expect(view(copy, time)).toEqual(view(table, time));
  for (const one of after) {
    if (one.kind === 'pass') time += one.time;
    for (const each of [table, copy]) act(each, one, time);
    expect(view(copy, time)).toEqual(view(table, time));
  }
}

const restoration = fc.record({ before: program, after: program, wall: fc.boolean() });

test('a restored table continues like the original', () => {
  fc.assert(fc.property(restoration, compare), { numRuns: 400 });
});

test('a table restored from nothing equals a new one', () => {
  const copy = createSeriesTable({ restored: stateOf(createSeriesTable()) });
  expect(copy.sizes).toEqual({ series: 0, pending: 0 });
  expect(copy.nextDue()).toBe(Infinity);
  copy.count(findingOf([1, 'web-0']), start);
  expect(copy.nextDue()).toBe(start + second);
});

/** Runs random steps; `look` sees the table before and after each of them. */
function check(look: (table: SeriesTable, onEarlier: Mock) => () => void): void {
  forAll([program, fc.boolean()], { numRuns: 300 }, (steps, wall) => {
    let time = start;
    const onEarlier = vi.fn<() => void>();
    const table = createSeriesTable({ limits, now: wall ? () => time : undefined, onEarlier });
    for (const one of steps) {
      const lookAgain = look(table, onEarlier);
      if (one.kind === 'pass') time += one.time;
      act(table, one, time);
      lookAgain();
    }
  });
}

test('`onEarlier` is called when a series is due earlier', () => {
  check((table, onEarlier) => {
    const due = table.nextDue();
    onEarlier.mockClear();
    return () => {
      if (table.nextDue() < due) expect(onEarlier).toHaveBeenCalled();
    };
  });
});

test('packets and reports of lost lines change the revision, published counts do not', () => {
  const table = createSeriesTable();
  const revisions = [table.revision];
  table.count(findingOf([1, 'web-0']), start);
  revisions.push(table.revision);
  table.suppress(report('everything'), 'node-a', start);
  revisions.push(table.revision);
  expect(new Set(revisions).size).toBe(3);
  publish(table, table.due(Infinity)[0] as Series, start + second);
  expect(table.revision).toBe(revisions.at(-1));
});

test('the state before, with the changes since the last call, gives the whole state', () => {
  const disks = new WeakMap<SeriesTable, Map<string, unknown>>();
  check((table) => () => {
    const values = disks.get(table) ?? new Map<string, unknown>();
    disks.set(table, values);
    for (const change of JSON.parse(JSON.stringify(table.takeChanges())) as StateChange[]) applyChange(change, values);
    expect(sorted(seriesStateIn(values, table.totals()))).toEqual(sorted(stateOf(table)));
  });
});

/** Brings a state into an order that does not depend on when its parts came. */
function sorted({ series, past, objects, ...rest }: SeriesState): unknown {
  return { ...rest, series: byName(series), past: byName(past), objects: Object.fromEntries(objects) };
}

/** One series of 3 packets, due for a minute. */
function tried(): { table: SeriesTable; series: Series; onEarlier: Mock; now: number } {
  const now = start + second + minute;
  const onEarlier = vi.fn<() => void>();
  const table = createSeriesTable({ now: () => now, onEarlier });
  table.count(findingOf([1, 'web-0']), start, 3);
  table.end(table.due(Infinity)[0] as Series, { kind: 'refused', until: start + second });
  const [series] = beginAll(table, now);
  onEarlier.mockClear();
  return { table, series: series as Series, onEarlier, now };
}

test('a series that was tried is due at the next try, with all packets counted since', () => {
  const { table, series, onEarlier, now } = tried();
  table.end(series, { kind: 'refused', until: now + minute });
  expect(onEarlier).toHaveBeenCalledTimes(1);
  expect(table.nextDue()).toBe(now + minute);
  table.count(series.finding, now, 2);
  expect(table.nextDue()).toBe(now + minute);
  expect(table.due(now + minute - 1)).toEqual([]);
  expect(table.due(now + minute)).toEqual([series]);
  expect(series.count).toBe(5);
});

test('after it is given up, a series that was tried is not due again unless it has new packets', () => {
  const { table, series, now } = tried();
  table.end(series, { kind: 'abandoned' });
  expect(table.sizes.pending).toBe(0);
  expect(table.nextDue()).toBe(Infinity);
  expect(table.due(Infinity)).toEqual([]);
  table.count(series.finding, now);
  expect(table.nextDue()).toBe(now + second);
  expect(table.due(now + second)).toEqual([series]);
  expect(series).toMatchObject({ count: 4, published: { count: 3, writes: 0 } });
});

test('an Event that lacks only the last packets comes again after its wait', () => {
  const { table, series, onEarlier, now } = tried();
  publish(table, series, now, 1);
  expect(series).toMatchObject({ count: 3, published: { count: 2 } });
  expect(table.nextDue()).toBe(now + 30 * second);
  expect(onEarlier).toHaveBeenCalledTimes(1);
  publish(table, series, now + minute);
  expect(table.sizes.pending).toBe(0);
});

test('an Event that lacks only the last packets comes again at once when its window is over', () => {
  const { table, series } = tried();
  table.count(series.finding, series.windowEnd);
  publish(table, series, series.windowEnd, 1);
  expect(series.due).toBe(series.windowEnd);
  expect(beginAll(table, series.windowEnd)).toContain(series);
  expect(table.sizes).toEqual({ series: 2, pending: 2 });
  publish(table, series, series.windowEnd);
  expect(table.sizes).toEqual({ series: 1, pending: 1 });
});

test('a series that was tried comes again if lines were lost while it was being published', () => {
  const { table, series, now } = tried();
  table.suppress(report('everything'), 'node-a', start + second);
  expect(series.suppressed).toBe(true);
  // The published values are those from the beginning of the write.
  table.end(series, { kind: 'published', published: { ...series.published, count: 3, writes: 1, at: now } });
  expect(table.sizes.pending).toBe(1);
  expect(table.nextDue()).toBeLessThan(Infinity);
});

test('a series that was tried is in the backlog since the time when it was due', () => {
  const { table, series, now } = tried();
  expect(table.backlog(now)).toEqual({ due: 1, oldest: minute });
  table.count(findingOf([2, 'web-0']), now - 500);
  expect(table.backlog(now)).toEqual({ due: 1, oldest: minute });
  expect(table.backlog(now + 3 * second)).toEqual({ due: 2, oldest: minute + 3 * second });
  expect(table.backlog(start)).toEqual({ due: 0, oldest: 0 });
  publish(table, series, now);
  expect(table.backlog(now + 3 * second)).toEqual({ due: 1, oldest: 2 * second });
});

test.each([false, true])(
  'lines lost at the turn of a window mark the series published just before (restored: %s)',
  (again) => {
    const before = createSeriesTable();
    before.count(findingOf([1, 'web-0']), start + windowLength - 2 * second);
    publish(before, before.due(Infinity)[0] as Series, start + windowLength - second);
    const table = again ? createSeriesTable({ restored: stateOf(before) }) : before;
    table.count(findingOf([2, 'web-0']), start + windowLength + second);
    table.suppress(report('everything'), 'node-a', start + windowLength + 2 * second);
    const marked = table.due(Infinity).filter(({ suppressed }) => suppressed);
    expect(marked.map(({ finding: { identity } }) => identity).toSorted()).toEqual(['web-0 1', 'web-0 2']);
  },
);
