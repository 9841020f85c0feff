import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Series, WriteKind } from '../../../src/base/model/series.ts';
import { byDue, byWeight, halfLaneOf, isUpdate, kindOf, laneOf } from '../../../src/count/series/times.ts';
import type { ReadySeries, TurnTaker } from '../../../src/count/series/lanes.ts';
import { createReady } from '../../../src/count/series/turns.ts';
import { finding, flow, incident, incidentDetails, nine, podRef } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const hour = 3_600_000;
const kinds: readonly WriteKind[] = ['first', 'more', 'final'];

/** The possible events between two turns; numbers choose among the existing objects. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    namespace: fc.nat(2),
    peer: fc.nat(3),
    object: fc.nat(4),
    writes: fc.nat(1),
    role: fc.constantFrom(undefined, 'full' as const, 'pod-notice' as const),
    window: fc.nat(1),
    due: fc.nat(20),
  }),
  fc.record({ kind: fc.constant('begin' as const), isPostponed: fc.boolean() }),
  fc.record({ kind: fc.constant('packet' as const), which: fc.nat(50), count: fc.nat(5) }),
  fc.record({ kind: fc.constant('leave' as const), which: fc.nat(50) }),
  fc.record({ kind: fc.constant('time' as const), seconds: fc.nat(90) }),
  fc.record({ kind: fc.constant('budget' as const), seconds: fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)) }),
);

test('the next turn goes to the series that a complete comparison chooses', () => {
  forAll([fc.array(step, { minLength: 20, maxLength: 80, size: 'max' })], {}, (steps) => {
    const world = createWorld();
    for (const each of steps) world.take(each);
  });
});

function createWorld() {
  const ready = createReady();
  const entries: ReadySeries[] = [];
  const takers = Array.from({ length: 7 }, (): TurnTaker => ({ lastTurn: 0 }));
  const objects = Array.from({ length: 5 }, () => ({ window: -1 }));
  let now = nine;
  let turn = 0;
  /** The number of turns of each half-lane. */
  const turns = new Map<number, number>();
  let names = 0;
  let isQuietAgain = true;
  let budget: Record<WriteKind, number> = { first: 0, more: 0, final: 0 };
  const availableAt = (kind: WriteKind): number => budget[kind];

  return {
    take(each: typeof step extends fc.Arbitrary<infer T> ? T : never): void {
      if (each.kind === 'time') now += each.seconds * 1000;
      else if (each.kind === 'budget')
        budget = Object.fromEntries(kinds.map((kind, i) => [kind, now + ((each.seconds[i] ?? 0) - 4) * 1000])) as never;
      else if (each.kind === 'add') add(each);
      else if (each.kind === 'begin') begin(each.isPostponed);
      else {
        const entry = entries[each.which % Math.max(1, entries.length)];
        if (entry === undefined) return;
        if (each.kind === 'leave') leave(entry);
        else isQuietAgain = false;
        if (each.kind === 'packet') Object.assign(entry.series, { count: entry.series.count + each.count, last: now });
      }
      // While quiet flows may not be written, a quiet flow with new packets is not looked for.
      if (isQuietAgain || budget.final <= now) expect(nextOf()).toEqual(expected());
    },
  };

  function add(each: {
    namespace: number;
    peer: number;
    object: number;
    writes: number;
    role: 'full' | 'pod-notice' | undefined;
    window: number;
    due: number;
  }): void {
    const object = `o-${each.object}`;
    const windowEnd = nine + each.window * hour + 120_000;
    const series = {
      finding: {
        ...(each.role === undefined
          ? finding({ details: flow({}) })
          : incident({ details: incidentDetails({ role: each.role }) })),
        identity: `s-${names++}`,
        regarding: podRef(object),
      },
      window: each.window,
      windowEnd,
      // So many packets that the flow is quiet after a minute, however long it has lasted.
      count: 1000,
      suppressed: undefined,
      first: now,
      last: now,
      due: nine + each.due * 1000,
      published: { writes: each.writes, count: 0, suppressed: undefined, at: null, retried: undefined },
    } as unknown as Series;
    const [namespace, peer, known] = [takers[each.namespace], takers[3 + each.peer], objects[each.object]];
    if (namespace === undefined || known === undefined) return;
    const entry = { series, key: object, object: known, namespace, peer: each.peer === 3 ? undefined : peer };
    entries.push(entry);
    ready.add(entry);
  }

  function begin(isPostponed: boolean): void {
    const next = ready.next(now, availableAt);
    const entry = typeof next === 'number' ? undefined : entries.find(({ series }) => series === next.series);
    if (entry === undefined) return;
    const { namespace, peer, object, series } = entry;
    const before = [namespace.lastTurn, peer?.lastTurn ?? 0, object.window] as const;
    const { half } = standingOf(entry);
    turns.set(half, (turns.get(half) ?? 0) + 1);
    leave(entry);
    ready.noteTurn();
    namespace.lastTurn = ++turn;
    if (peer !== undefined) peer.lastTurn = turn;
    if (!isUpdate(series)) object.window = Math.max(object.window, series.window);
    if (!isPostponed) return;
    [namespace.lastTurn, , object.window] = before;
    if (peer !== undefined) peer.lastTurn = before[1];
    ready.reorder();
    const again = { ...entry };
    entries.push(again);
    ready.add(again);
  }

  function leave(entry: ReadySeries): void {
    entries.splice(entries.indexOf(entry), 1);
    ready.remove(entry);
  }

  function nextOf(): unknown {
    const next = ready.next(now, availableAt);
    return typeof next === 'number' ? next : { ...next, series: next.series.finding.identity };
  }

  /** Finds the next turn by looking at every entry. */
  function expected(): unknown {
    const all = entries.map((entry) => Object.assign(standingOf(entry), { entry }));
    const may = all.filter(({ kind }) => budget[kind] <= now);
    const [first] = may.toSorted(
      (a, b) => a.half - b.half || a.turn - b.turn || a.peer - b.peer || byDue(a.entry.series, b.entry.series),
    );
    if (first === undefined) return Math.min(Infinity, ...all.map(({ kind }) => budget[kind]));
    const ofObject = may.filter(({ entry, half }) => entry.key === first.entry.key && half === first.half);
    const [series] = ofObject.map(({ entry }) => entry.series).toSorted(byWeight);
    return { series: series?.finding.identity, kind: first.kind, lane: series && laneOf(series, now) };
  }

  /** In every second turn only namespaces count. */
  function isByBoth(half: number): boolean {
    return (turns.get(half) ?? 0) % 2 === 0;
  }

  function standingOf({ series, object, namespace, peer }: ReadySeries) {
    const lane = laneOf(series, now);
    const isMore = !isUpdate(series) && object.window === series.window;
    const peerTurn = peer?.lastTurn ?? 0;
    const half = halfLaneOf(lane, isMore);
    return {
      half,
      turn: isByBoth(half) ? Math.max(namespace.lastTurn, peerTurn) : namespace.lastTurn,
      peer: peerTurn,
      kind: kindOf(lane, isMore),
    };
  }
}
