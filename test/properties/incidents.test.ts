import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Incident, IncidentChange } from '../../src/incidents/incident.ts';
import { createIncidentTable, type IncidentTable } from '../../src/incidents/tracker/table.ts';
import type { IncidentsState } from '../../src/incidents/tracker/state.ts';
import type { Millis } from '../../src/model/log-line.ts';
import type { Failing, Sign } from '../../src/model/program-record.ts';
import { failure, courseOf, sync } from '../incidents/scripts.ts';
import { referenceChanges } from './reference-incidents.ts';

const runs = { numRuns: 500 };

/** One thing that happens, `wait` after the one before. */
interface Step {
  wait: Millis;
  happens: Sign | 'restart' | 'tick';
}

const failings: Failing[] = ['kube-proxy', 'felix', 'bird', 'kernel'];
const codes = ['KN102', 'KN104', 'KN109', 'KN116', 'KN201', 'KN204', 'KN401'];
const family = fc.constantFrom('IPv4', 'IPv6', '');
/** What tells rules apart: within an attempt, a rhythm, two, a calm, and long after. */
const wait = fc.oneof(
  fc.integer({ min: 0, max: 2500 }),
  fc.constantFrom(2000, 2001, 30_000, 60_000, 60_001, 90_000, 900_000),
  fc.integer({ min: 0, max: 120_000 }),
  fc.integer({ min: 0, max: 1_200_000 }),
);
const failing = fc.constantFrom(...failings);
const sign: fc.Arbitrary<Sign> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ code: fc.constantFrom(...codes), failing, family, subject: fc.constantFrom('a', 'b', undefined) })
      .map(failure),
  },
  fc
    .record({ kind: fc.constantFrom('sync-failed' as const, 'sync-complete' as const), failing, family })
    .map((given) => sync(given.kind, given.family, { failing: given.failing })),
);
const inOrder: fc.Arbitrary<Step> = fc.record({
  wait,
  happens: fc.oneof({ weight: 8, arbitrary: sign }, fc.constantFrom('restart' as const, 'tick' as const)),
});
const disordered = fc.oneof(
  { weight: 4, arbitrary: inOrder },
  fc.record({ wait: fc.integer({ min: -300_000, max: 0 }), happens: sign }),
);

function step(table: IncidentTable, { happens }: Step, time: Millis): void {
  if (happens === 'tick') table.tick(time);
  else if (happens === 'restart') table.restarted('kube-proxy', undefined, time, undefined);
  else table.take(happens, time, undefined);
}

/** Takes the steps one after the other; `after` sees the table after each and may give another to go on with. */
function run(
  steps: readonly Step[],
  onChange: (change: IncidentChange) => void,
  after: (table: IncidentTable, time: Millis, index: number) => IncidentTable = (table) => table,
): IncidentTable {
  let table = createIncidentTable({ courseOf, onChange });
  let time = 1_800_000_000_000;
  for (const [i, next] of steps.entries()) {
    time += next.wait;
    step(table, next, time);
    table = after(table, time, i);
  }
  return table;
}

function told({ kind, incident }: IncidentChange): string {
  const { code, failing: program, unpublished, last, ended, endedBy, failures } = incident;
  return `${kind} ${code} ${program} ${unpublished} of ${failures} until ${last}, ${ended} ${endedBy}`;
}

function tell(incident: Incident): void {
  incident.unpublished = 0;
  incident.endUnpublished = false;
}

function sum(of: Record<string, number>): number {
  return Object.values(of).reduce((a, b) => a + b, 0);
}

/** Tells at once, and writes it down. */
function listen(into: string[]): (change: IncidentChange) => void {
  return (change) => {
    into.push(told(change));
    tell(change.incident);
  };
}

const throughDisk = (table: IncidentTable) => JSON.parse(JSON.stringify(table.state())) as IncidentsState;

test('one cause alone is as a slow and obvious reference has it', () => {
  fc.assert(
    fc.property(fc.array(wait, { maxLength: 40 }), (waits) => {
      let time = 0;
      const times = waits.map((each) => (time += each));
      const end = time + 4_000_000;
      const changes: string[] = [];
      let now = 0;
      const table = createIncidentTable({
        courseOf,
        onChange({ kind, incident }) {
          changes.push(kind === 'closed' ? `${now} closed` : `${now} ${kind} ${incident.unpublished}`);
          tell(incident);
        },
      });
      const tickUntil = (until: Millis) => {
        while (table.nextTick <= until) table.tick((now = table.nextTick));
      };
      for (const at of times) {
        tickUntil(at);
        table.take(failure({ code: 'KN401', failing: 'kernel', family: '' }), (now = at), undefined);
      }
      tickUntil(end);
      expect(changes).toEqual(referenceChanges(times, 30_000, end));
    }),
    runs,
  );
});

describe('whatever comes, in whatever order', () => {
  const steps = fc.array(disordered, { maxLength: 60 });

  test('every failure of an incident is told once, at once or later', () => {
    fc.assert(
      fc.property(steps, fc.func(fc.boolean()), (all, isHeardAt) => {
        const tells = new Map<Incident, number>();
        const bases = new Map<Incident, number>();
        const table = run(all, ({ incident }) => {
          if (!bases.has(incident)) bases.set(incident, incident.failures - incident.unpublished);
          if (!isHeardAt(incident.failures)) return;
          tells.set(incident, (tells.get(incident) ?? 0) + incident.unpublished);
          incident.unpublished = 0;
        });
        for (const incident of table.incidents) {
          if (incident.phase === 'suspected') expect(incident.unpublished).toBe(0);
          else {
            expect(bases.get(incident)).toBe(0);
            expect((tells.get(incident) ?? 0) + incident.unpublished).toBe(incident.failures);
          }
        }
      }),
      runs,
    );
  });

  test('each cause of a program is there once, opens and closes in turn, and no time is odd', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const open = new Set<string>();
        run(
          all,
          ({ kind, incident }) => {
            const key = `${incident.code} ${incident.failing}`;
            expect(open.has(key)).toBe(kind !== 'opened');
            if (kind === 'closed') open.delete(key);
            else open.add(key);
          },
          (table) => {
            const { incidents } = table;
            expect(new Set(incidents.map((each) => `${each.code} ${each.failing}`)).size).toBe(incidents.length);
            expect(incidents.filter(({ phase }) => phase === 'open')).toHaveLength(open.size);
            for (const { first, last, opened = first, ended, endedBy, phase, failures, restarts } of incidents) {
              expect(first).toBeLessThanOrEqual(Math.min(last, opened));
              expect(failures).toBeGreaterThan(0);
              expect(restarts).toBeLessThanOrEqual(failures);
              expect([ended === undefined, endedBy === undefined]).toEqual([phase !== 'over', phase !== 'over']);
              if (ended !== undefined) expect(ended).toBeGreaterThanOrEqual(last);
            }
            return table;
          },
        );
      }),
      runs,
    );
  });

  test('all failures are counted, and opened are those closed and those open', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const { counts, incidents } = run(all, ({ incident }) => tell(incident));
        const failures = all.filter(({ happens }) => typeof happens === 'object' && happens.kind === 'failure');
        expect(sum(counts.failures)).toBeGreaterThanOrEqual(failures.length);
        expect(sum(counts.opened) - sum(counts.closed)).toBe(incidents.filter(({ phase }) => phase === 'open').length);
        expect(sum(counts.restarts)).toBe(all.filter(({ happens }) => happens === 'restart').length);
      }),
      runs,
    );
  });

  test('a restart of the agent at any point changes nothing that follows', () => {
    fc.assert(
      fc.property(steps, fc.nat({ max: 60 }), (all, at) => {
        const [whole, parted]: [string[], string[]] = [[], []];
        const one = run(all, listen(whole));
        const other = run(all, listen(parted), (table, _, i) =>
          i === at ? createIncidentTable({ courseOf, onChange: listen(parted), restored: throughDisk(table) }) : table,
        );
        expect(parted).toEqual(whole);
        expect(throughDisk(other)).toEqual(throughDisk(one));
      }),
      runs,
    );
  });

  test('after a crash every change that was not told is offered, and no failure is told twice', () => {
    fc.assert(
      fc.property(steps, fc.nat({ max: 60 }), (all, at) => {
        const sums = new Map<string, number>();
        const hear = ({ incident }: IncidentChange) => {
          const key = `${incident.code} ${incident.failing} ${incident.first}`;
          sums.set(key, (sums.get(key) ?? 0) + incident.unpublished);
          tell(incident);
        };
        const silent = run(all.slice(0, at), () => undefined);
        const kept = throughDisk(silent);
        const next = createIncidentTable({ courseOf, onChange: hear, restored: kept });
        expect(next.nextTick === 0).toBe(
          silent.incidents.some(({ unpublished, endUnpublished }) => unpublished > 0 || endUnpublished),
        );
        next.tick(0);
        for (const { incident } of kept.incidents) {
          const key = `${incident.code} ${incident.failing} ${incident.first}`;
          expect(sums.get(key) ?? 0).toBe(incident.phase === 'suspected' ? 0 : incident.failures);
        }
      }),
      runs,
    );
  });

  test('the revision is another whenever the state is', () => {
    fc.assert(
      fc.property(steps, fc.func(fc.boolean()), (all, isHeardAt) => {
        const states = new Map<number, string>();
        run(
          all,
          ({ incident }) => {
            if (isHeardAt(incident.failures)) tell(incident);
          },
          (table) => {
            const state = JSON.stringify(table.state());
            const { revision } = table;
            expect(states.get(revision) ?? state).toBe(state);
            states.set(revision, state);
            return table;
          },
        );
      }),
      runs,
    );
  });
});

test('how often it ticks only decides how soon an end is known', () => {
  fc.assert(
    fc.property(fc.array(inOrder, { maxLength: 60 }), fc.integer({ min: 10_000, max: 400_000 }), (all, interval) => {
      expect(trace(all, interval)).toEqual(trace(all, Infinity));
    }),
    runs,
  );
});

/** What was heard of each cause when there is a tick every `interval` beside the steps that are signs. */
function trace(steps: readonly Step[], interval: Millis): unknown {
  const changes: Record<string, string[]> = {};
  const table = createIncidentTable({
    courseOf,
    onChange(change) {
      (changes[`${change.incident.code} ${change.incident.failing}`] ??= []).push(told(change));
      tell(change.incident);
    },
  });
  let time = 1_800_000_000_000;
  for (const next of steps) {
    for (let tick = time + interval; tick <= time + next.wait; tick += interval) table.tick(tick);
    time += next.wait;
    if (next.happens !== 'tick') step(table, next, time);
  }
  table.tick(time + 10_000_000);
  return { changes, counts: table.counts, left: table.incidents };
}

test('100,000 signs of any kind are a small table', () => {
  const [first] = fc.sample(fc.array(disordered, { minLength: 1000, maxLength: 1000 }), { numRuns: 1, seed: 7 });
  const table = createIncidentTable({ courseOf, onChange: ({ incident }) => tell(incident) });
  let time = 1_800_000_000_000;
  for (let i = 0; i < 100_000; i++) {
    const next = first?.[i % 1000] as Step;
    time += next.wait % 5000;
    const { happens } = next;
    if (typeof happens === 'object' && happens.kind === 'failure')
      table.take(
        { ...happens, family: `family ${i}`, subject: `${i} `.repeat(1000), quote: 'x'.repeat(5000) },
        time,
        undefined,
      );
    else step(table, next, time);
  }
  expect(table.incidents.length).toBeLessThanOrEqual(failings.length * codes.length + 1);
  expect(JSON.stringify(table.state()).length).toBeLessThan(10_000 * table.incidents.length);
});
