import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, incident, nine, podRef } from '../../builders.ts';
import { stateOf } from './state-of.ts';
import { publish } from './writing.ts';
import { forAll } from '../../for-all.ts';

const second = 1000;
const minute = 60 * second;
const start = nine;
const at = (seconds: number): number => start + seconds * second;

/** `namespace/pod`, a port, and the last part of the peer's address. */
function drop(object: string, port: number, peer = 1): Finding {
  const [namespace = '', name = ''] = object.split('/');
  return finding({
    identity: `${object} ${port} ${peer}`,
    regarding: { ...podRef(name, namespace), uid: object },
    details: flow({ port, peer: externalEnd({ address: `203.0.113.${peer}`, identity: `203.0.113.${peer}` }) }),
  });
}

/** A packet that a Pod sends, which does not count as a scan by the peer. */
function sent(...packet: Parameters<typeof drop>): Finding {
  const { details, ...all } = drop(...packet);
  return { ...all, details: details.kind === 'flow' ? { ...details, direction: 'sending' } : details };
}

/**
 * Writes what has its turn, until nothing is due at `now` or `most` Events are written; returns their identities in
 * order.
 */
function write(table: SeriesTable, now: number, most = Infinity): string[] {
  const written: string[] = [];
  for (let turn = table.next(now); turn !== undefined && written.length < most; turn = table.next(now)) {
    table.begin(turn.series);
    publish(table, turn.series, now);
    written.push(turn.series.finding.identity);
  }
  return written;
}

const objectsOf = (written: string[]): string[] => written.map((identity) => identity.split(' ')[0] ?? '');

test('in a storm, every Pod has its first Event before any Pod has its second', () => {
  const table = createSeriesTable();
  for (let port = 1; port <= 8; port++)
    for (let pod = 0; pod < 110; pod++)
      table.count(drop(`team-${pod % 7}/web-${pod}`, port, pod * 10 + port), at(port / 10));
  const written = objectsOf(write(table, at(2)));
  expect(written).toHaveLength(880);
  expect(new Set(written.slice(0, 110)).size).toBe(110);
});

test('a tenant with hundreds of problems delays a tenant with a few later ones by one turn each', () => {
  const table = createSeriesTable();
  for (let pod = 0; pod < 300; pod++) table.count(drop(`noisy/web-${pod}`, 80, pod % 250), at(0));
  write(table, at(2), 10);
  for (let pod = 0; pod < 3; pod++) table.count(drop(`quiet/db-${pod}`, 5432, 251), at(5));
  expect(objectsOf(write(table, at(7), 6)).filter((object) => object.startsWith('quiet/'))).toHaveLength(3);
});

test.each([
  ['an Event about another', 'team-100/db'],
  ['one about another on a Pod that waits because of it', 'team-99/web'],
])('a peer refused by Pods of a hundred namespaces does not delay %s', (_, object) => {
  const table = createSeriesTable();
  for (let pod = 0; pod < 100; pod++) table.count(drop(`team-${pod}/web`, 80, 66), at(0));
  write(table, at(2), 3);
  table.count(drop(object, 5432, 9), at(5), 50);
  expect(write(table, at(7), 2)).toContain(`${object} 5432 9`);
});

test("of an object's series, the one with most packets comes first, then the newest", () => {
  const table = createSeriesTable();
  table.count(drop('shop/web', 1), at(0));
  table.count(drop('shop/web', 2, 2), at(0.5), 7);
  table.count(drop('shop/web', 3, 3), at(0.1));
  expect(write(table, at(2))).toEqual(['shop/web 2 2', 'shop/web 3 3', 'shop/web 1 1']);
});

test('an incident on an object does not count as its first Event about a drop', () => {
  const table = createSeriesTable();
  const { regarding } = incident();
  table.count(incident(), at(0));
  table.count(finding({ regarding }), at(0));
  expect(write(table, at(2), 1)).toEqual(['incident']);
  expect(table.next(at(2))).toMatchObject({ kind: 'first', series: { finding: { details: { kind: 'flow' } } } });
});

test('incidents come before all drops, and updates of incidents after the first Events of drops', () => {
  const table = createSeriesTable();
  for (let pod = 0; pod < 5; pod++) table.count(drop(`shop/web-${pod}`, 1), at(0));
  table.count(incident(), at(0.5));
  expect(write(table, at(2), 1)).toEqual(['incident']);
  table.count(incident(), at(3));
  expect(write(table, at(40), 6).at(-1)).toBe('incident');
});

test('a Pod of another node comes after Pods of this node, and its first Event has no priority', () => {
  const table = createSeriesTable();
  table.count({ ...drop('shop/there', 1), elsewhere: true }, at(0));
  table.count(drop('shop/here', 1), at(1));
  const turn = table.next(at(3));
  expect(turn).toMatchObject({ series: { finding: { regarding: { name: 'here' } } }, kind: 'first' });
  if (turn !== undefined) table.begin(turn.series);
  expect(table.next(at(3))).toMatchObject({ series: { finding: { elsewhere: true } }, kind: 'more' });
});

test.each([
  ['further Events of Pods here', 5, {}],
  ['first Events of Pods elsewhere', 1, { elsewhere: true as const }],
])(
  "a tenant with hundreds of %s delays no other tenant's Event, here or elsewhere, first or further",
  (_, ports, elsewhere) => {
    const table = createSeriesTable();
    for (let pod = 0; pod < 100; pod++)
      for (let port = 1; port <= ports; port++)
        table.count({ ...drop(`noisy/web-${pod}`, port, (pod * 5 + port) % 250), ...elsewhere }, at(0));
    if (ports > 1) write(table, at(2), 100);
    for (const port of [1, 2]) table.count(drop('quiet/here', port, 251), at(3));
    for (const port of [1, 2]) table.count({ ...drop('quiet/there', port, 252), elsewhere: true }, at(3));
    const written = objectsOf(write(table, at(6), 10)).filter((object) => object.startsWith('quiet/'));
    expect(written.toSorted()).toEqual(['quiet/here', 'quiet/here', 'quiet/there', 'quiet/there']);
  },
);

test("an object's first Event in a new window is a first one again", () => {
  const table = createSeriesTable();
  const { end } = windowOf(at(0), 'shop/web');
  for (const time of [end - minute, end + minute]) {
    for (const port of [1, 2]) table.count(drop('shop/web', port), time);
    const turns = [0, 1].map(() => {
      const turn = table.next(time + 2 * second);
      if (turn !== undefined) table.begin(turn.series);
      return turn?.kind;
    });
    expect(turns).toEqual(['first', 'more']);
  }
});

test('after a restart, an object that had its first Event waits with its second for the first Events of others', () => {
  const before = createSeriesTable();
  for (const port of [1, 2]) before.count(drop('a/web', port), at(0));
  write(before, at(2), 1);
  const table = createSeriesTable({ restored: stateOf(before) });
  table.count(drop('b/web', 1), at(2));
  expect(objectsOf(write(table, at(5)))).toEqual(['b/web', 'a/web']);
});

test('after a restart, an object without an Event has its first before later ones', () => {
  const before = createSeriesTable();
  before.count(drop('a/web', 1), at(0));
  const table = createSeriesTable({ restored: stateOf(before) });
  table.count(drop('b/web', 1), at(2));
  expect(objectsOf(write(table, at(5)))).toEqual(['a/web', 'b/web']);
});

test("an update of an Event does not count as a turn of the object's next problem", () => {
  const table = createSeriesTable();
  for (const object of ['a/web', 'b/web']) table.count(drop(object, 1), at(0));
  write(table, at(2));
  table.count(drop('a/web', 1), at(3));
  expect(objectsOf(write(table, at(120)))).toEqual(['a/web']);
  for (const object of ['a/web', 'b/web']) table.count(drop(object, 2), at(121));
  expect(objectsOf(write(table, at(124)))).toEqual(['a/web', 'b/web']);
});

test('a series that could not be written, without being refused, keeps its turn', () => {
  const onEarlier = vi.fn<() => void>();
  const table = createSeriesTable({ onEarlier });
  for (const [index, object] of ['a/web', 'b/web', 'c/web'].entries()) table.count(drop(object, 1, index), at(0));
  const first = table.next(at(2))?.series as Series;
  table.begin(first);
  expect(table.next(at(2))?.series).not.toBe(first);
  table.hold(at(60));
  onEarlier.mockClear();
  table.end(first, { kind: 'postponed' });
  expect(onEarlier).toHaveBeenCalledTimes(1);
  expect(table.nextDue()).toBeLessThanOrEqual(at(2));
  expect(table.next(at(2))).toMatchObject({ series: first, kind: 'first' });
  table.begin(first);
  table.end(first, { kind: 'postponed', until: at(60) });
  expect(write(table, at(30))).toHaveLength(2);
  expect(table.next(at(60))).toMatchObject({ series: first, kind: 'first' });
  write(table, at(60));
  table.end(first, { kind: 'postponed' });
  expect(table.next(at(61))).toBeUndefined();
});

test.each([
  [8191, 'more'],
  [8192, 'first'],
])('after Events on %i other objects, the next Event about an object is one of its own: %s', (others, kind) => {
  const table = createSeriesTable();
  table.count(drop('shop/web', 1), at(0));
  write(table, at(2));
  for (let pod = 0; pod < others; pod++) table.count(drop(`shop/other-${pod}`, 1, pod + 2), at(3));
  write(table, at(5));
  table.count(drop('shop/web', 2), at(6));
  expect(table.next(at(8))?.kind).toBe(kind);
});

interface Step {
  namespace: number;
  pod: number;
  port: number;
  peer: number;
  written: number;
}

const steps = fc.array(
  fc.record({
    namespace: fc.integer({ min: 0, max: 3 }),
    pod: fc.integer({ min: 0, max: 5 }),
    port: fc.integer({ min: 1, max: 4 }),
    peer: fc.integer({ min: 1, max: 3 }),
    written: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 80 },
);

const dropOf = ({ namespace, pod, port, peer }: Step): Finding => drop(`team-${namespace}/web-${pod}`, port, peer);

test('no object has its second Event while another waits for its first', () => {
  forAll([steps], {}, (list) => {
    const table = createSeriesTable();
    const had = new Set<string>();
    for (const [index, step] of list.entries()) {
      table.count(dropOf(step), at(index));
      for (let written = 0; written < step.written; written++) {
        const now = at(index + 0.5);
        const waiting = table.due(now).filter(({ published }) => published.writes === 0);
        const [identity] = write(table, now, 1);
        if (identity === undefined) break;
        const object = objectsOf([identity])[0] ?? '';
        if (had.has(object))
          expect(waiting.filter(({ finding: { regarding } }) => !had.has(regarding.uid))).toEqual([]);
        had.add(object);
      }
    }
  });
});

test('while a namespace waits, every other one is written at most about twice', () => {
  const arrivals = fc.array(
    fc.record({ namespace: fc.integer({ min: 0, max: 3 }), written: fc.integer({ min: 0, max: 2 }) }),
    { maxLength: 80 },
  );
  forAll([arrivals], {}, (list) => {
    const table = createSeriesTable();
    /** For each waiting namespace: the namespaces that were written about in the meantime. */
    const waits = new Map<number, number[]>();
    const waiting = new Map<number, number>();
    for (const [index, { namespace, written }] of list.entries()) {
      table.count(drop(`${namespace}/web-${index}`, 80, index), at(0));
      table.next(at(2));
      waiting.set(namespace, (waiting.get(namespace) ?? 0) + 1);
      if (!waits.has(namespace)) waits.set(namespace, []);
      for (const [identity] of Array.from({ length: written }, () => write(table, at(2), 1))) {
        if (identity === undefined) continue;
        const of = Number.parseInt(identity, 10);
        waits.delete(of);
        waiting.set(of, (waiting.get(of) ?? 0) - 1);
        if ((waiting.get(of) ?? 0) > 0) waits.set(of, []);
        for (const others of waits.values()) {
          if (!waits.has(of) || waits.get(of) !== others) others.push(of);
          expect(others.filter((other) => other === of).length).toBeLessThanOrEqual(2);
        }
      }
    }
  });
});

test('a namespace waits for at most twice as many Events as there are namespaces, whichever peers they share', () => {
  const namespaces = 4;
  const arrivals = fc.array(
    fc.record({
      namespace: fc.integer({ min: 0, max: namespaces - 1 }),
      peer: fc.integer({ min: 1, max: 3 }),
      written: fc.integer({ min: 0, max: 1 }),
    }),
    { minLength: 60, maxLength: 120, size: 'max' },
  );
  forAll([arrivals], {}, (list) => {
    const table = createSeriesTable();
    const waiting = new Map<string, number>();
    /** For each waiting namespace: the Events that were written in the meantime. */
    const waits = new Map<string, number>();
    for (const [index, { namespace, peer, written }] of list.entries()) {
      const name = `team-${namespace}`;
      table.count(sent(`${name}/web-${index}`, 80, peer), at(0));
      table.next(at(2));
      waiting.set(name, (waiting.get(name) ?? 0) + 1);
      if (!waits.has(name)) waits.set(name, 0);
      for (const identity of Array.from({ length: written }, () => write(table, at(2), 1)).flat()) {
        const of = identity.slice(0, identity.indexOf('/'));
        for (const [other, since] of waits) waits.set(other, since + 1);
        const left = (waiting.get(of) ?? 0) - 1;
        waiting.set(of, left);
        if (left > 0) waits.set(of, 0);
        else waits.delete(of);
        expect(Math.max(0, ...waits.values())).toBeLessThan(2 * namespaces);
      }
    }
  });
});

test.each([1, 10, 100])(
  "hundreds of Events of %i namespaces with another tenant's peer delay it by two turns each",
  (others) => {
    const table = createSeriesTable();
    for (let pod = 0; pod < 5 * others + 200; pod++)
      table.count({ ...sent(`noisy-${pod % others}/web-${pod}`, 80), elsewhere: true }, at(0));
    write(table, at(2), 7);
    for (let pod = 0; pod < 2; pod++) table.count({ ...sent(`quiet/db-${pod}`, 5432), elsewhere: true }, at(3));
    const written = objectsOf(write(table, at(6), 4 * (others + 1)));
    expect(written.filter((object) => object.startsWith('quiet/'))).toHaveLength(2);
  },
);

test('everything that is due is written in the end', () => {
  forAll([steps], {}, (list) => {
    const table = createSeriesTable();
    for (const [index, step] of list.entries()) {
      table.count(dropOf(step), at(index));
      write(table, at(index), step.written);
    }
    write(table, at(10_000));
    expect(table.sizes.pending).toBe(0);
    expect(table.nextDue()).toBe(Infinity);
  });
});
