import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import type { Series } from '../../../src/base/model/series.ts';
import { type WriteOutcome } from '../../../src/publish/events/event-writer.ts';
import { createPublisher, type Publisher } from '../../../src/publish/events/publisher.ts';
import { createWriteBudget } from '../../../src/publish/events/write-budget.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { externalEnd, finding, flow, incident, nine, podRef } from '../../builders.ts';
import { refusal } from './memory-store.ts';

const second = 1000;

/** The start of a window of the Pod that most drops are about. */
const start = windowOf(nine, podRef().uid).end;

const rigs: Rig[] = [];

beforeEach(() => {
  vi.useFakeTimers({ now: start });
});

afterEach(async () => {
  for (const { publisher, hung } of rigs.splice(0)) {
    hung.resolve();
    const stopped = publisher.stop(0).catch(() => {});
    // A request under way takes some time.
    await vi.advanceTimersByTimeAsync(second);
    await stopped;
  }
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/**
 * The API server's answer to a write: a status, with a reason or the seconds to wait; `ok`, which with `slow` comes
 * after three seconds; or nothing until `hung` is resolved or the request times out (`time-out`).
 */
type Answer =
  | 'ok'
  | 'slow'
  | 'foreign'
  | 'hang'
  | 'time-out'
  | 'throw'
  | number
  | [status: number, more: string | number];

/** The seconds that an answer takes; default 0.02. */
const delays: Partial<Record<string, number>> = { slow: 3, 'time-out': 30 };

interface Rig {
  table: SeriesTable;
  publisher: Publisher;
  /** `5 web-0`: seconds from `start`, and the identity. */
  writes: string[];
  /** For example `create ok web-0`. */
  results: string[];
  abandoned: string[];
  written: number[];
  unauthorized: number[];
  /** The most writes at the same time. */
  readonly most: number;
  /** Ends hanging writes as successful. */
  hung: PromiseWithResolvers<void>;
  count: (each: Finding, weight?: number) => void;
  finished: Promise<void>;
}

interface RigOptions {
  /** Answers by identity, in order; the last one repeats. */
  answers?: Record<string, Answer[]>;
  budget?: { rate: number; burst: number };
  /** By default the same as for all. */
  others?: { rate: number; burst: number };
  keep?: () => Promise<void>;
  write?: (series: Series) => Promise<WriteOutcome>;
  run?: boolean;
}

function rig(options: RigOptions = {}): Rig {
  const { answers = {}, budget = { rate: 100, burst: 100 }, keep = async () => {}, write: given, run = true } = options;
  const { others = budget } = options;
  const [writes, results, abandoned]: string[][] = [[], [], []];
  const [written, unauthorized]: number[][] = [[], []];
  const hung = Promise.withResolvers<void>();
  let [running, most] = [0, 0];
  const table: SeriesTable = createSeriesTable({ now: Date.now, onEarlier: () => publisher.wake() });
  const publisher = createPublisher({
    table,
    keep,
    write: async (series) => {
      writes?.push(`${seconds()} ${series.finding.identity}`);
      most = Math.max(most, ++running);
      try {
        return await (given ?? write)(series);
      } finally {
        running--;
      }
    },
    report: {
      attempted({ verb, result, series: { finding: of }, packets }) {
        results?.push(`${verb} ${result} ${of.identity}`);
        if (packets > 0) written?.push(packets);
        if (result === 'unauthorized') unauthorized?.push(seconds());
      },
      abandoned: (reason) => void abandoned?.push(reason),
    },
    now: Date.now,
    budget: createWriteBudget({ limits: { all: budget, others, hour: { burst: 10_000, rate: 1 } } }),
  });
  const one: Rig = {
    table,
    publisher,
    writes: writes ?? [],
    results: results ?? [],
    abandoned: abandoned ?? [],
    written: written ?? [],
    unauthorized: unauthorized ?? [],
    hung,
    get most() {
      return most;
    },
    count: (each, weight) => table.count(each, Date.now(), weight),
    finished: run ? publisher.run() : Promise.resolve(),
  };
  rigs.push(one);
  return one;

  async function write(series: Series): Promise<WriteOutcome> {
    const { count, published } = series;
    const at = Date.now();
    const list = answers[series.finding.identity] ?? [];
    const answer = (list.length > 1 ? list.shift() : list[0]) ?? 'ok';
    // A request takes some time.
    await new Promise((resolve) => setTimeout(resolve, (delays[String(answer)] ?? 0.02) * second));
    if (answer === 'throw') throw new TypeError('no such property');
    if (answer === 'foreign') return { kind: 'foreign', component: 'kubelet' };
    if (answer === 'hang') await hung.promise;
    const verb = published.writes === 0 ? 'create' : 'update';
    if (answer === 'ok' || answer === 'slow' || answer === 'hang') {
      const packets = count - published.count;
      return { kind: 'written', verb, packets, published: { ...published, count, writes: published.writes + 1, at } };
    }
    const [status, more] = answer === 'time-out' ? [0, ''] : typeof answer === 'number' ? [answer, ''] : answer;
    const [reason, wait] = typeof more === 'string' ? [more, undefined] : ['', more * second];
    return { kind: 'refused', verb, refusal: refusal(status, reason, wait) };
  }
}

/** The seconds since the start. */
const seconds = (): number => (Date.now() - start) / second;

/** A drop on a Pod of its own, with a peer of its own. */
function drop(name: string, namespace = 'shop'): Finding {
  const peer = externalEnd({ identity: `peer of ${name}` });
  return finding({ identity: name, regarding: podRef(name, namespace), details: flow({ peer }) });
}

const pass = (time: number): Promise<unknown> => vi.advanceTimersByTimeAsync(time * second);

/** When a series was written, in seconds from the start. */
function timesOf(name: string, { writes }: Rig): number[] {
  return writes.filter((write) => write.endsWith(` ${name}`)).map((write) => Number(write.split(' ')[0]));
}

const namesOf = ({ writes }: Rig): string[] => writes.map((write) => write.replace(/^\S+ /, ''));

test('an Event is written in time, most urgent first, one after another within a namespace', async () => {
  const one = rig();
  one.count(drop('b'));
  await pass(0.1);
  one.count(drop('a'));
  one.count({ ...incident(), regarding: podRef('a') });
  await pass(0.85);
  expect(one.writes).toEqual([]);
  await pass(0.5);
  expect(one.writes).toEqual(['1 b', '1.1 incident', '1.12 a']);
  expect(one.results).toEqual(['create ok b', 'create ok incident', 'create ok a']);
  expect(one.written).toEqual([1, 1, 1]);
  expect(one.most).toBe(1);
});

test('a summary on the Node does not count as published packets', async () => {
  const one = rig();
  for (let pod = 0; pod < 12; pod++)
    one.count({ ...drop(`web-${pod}`), regarding: podRef(`web-${pod}`), details: flow({ peer: externalEnd() }) });
  await pass(10);
  expect(one.results.filter((result) => result.startsWith('create ok scan|'))).toHaveLength(13);
  expect(one.written.reduce((sum, packets) => sum + packets, 0)).toBe(12);
});

test('packets counted meanwhile are published later, with the others', async () => {
  const one = rig({ answers: { a: ['hang', 'ok'] } });
  one.count(drop('a'), 3);
  await pass(1.5);
  one.count(drop('a'), 4);
  one.hung.resolve();
  await pass(1);
  expect(one.written).toEqual([3]);
  await pass(27);
  expect(one.writes).toHaveLength(1);
  one.count(drop('a'), 5);
  await pass(5);
  expect(one.writes).toEqual(['1 a', '31 a']);
  expect(one.written).toEqual([3, 9]);
  await pass(3600);
  expect(one.writes).toHaveLength(2);
});

test('the publisher keeps to the budget, without a busy loop', async () => {
  const one = rig({ budget: { rate: 0.5, burst: 3 } });
  for (const name of ['a', 'b', 'c', 'd', 'e']) one.count(drop(name));
  const nextDue = vi.spyOn(one.table, 'nextDue');
  await pass(30);
  expect(one.writes.map((write) => Math.round(Number(write.split(' ')[0])))).toEqual([1, 1, 1, 3, 5]);
  expect(namesOf(one)).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(nextDue.mock.calls.length).toBeLessThanOrEqual(8);
});

test('a batch has all series that are due and within the budget: it is saved at once, before any request', async () => {
  const kept = Promise.withResolvers<void>();
  const keep = vi.fn<() => Promise<void>>(() => kept.promise);
  const one = rig({ keep, budget: { rate: 0.01, burst: 5 } });
  for (let number = 0; number < 9; number++) one.count(drop(`pod-${number}`, `of-${number}`), 3);
  await pass(2);
  expect(one.writes).toEqual([]);
  one.count(drop('pod-0', 'of-0'), 4);
  kept.resolve();
  await pass(2);
  expect(one.writes).toHaveLength(5);
  expect(one.written).toEqual([3, 3, 3, 3, 3]);
  expect(keep).toHaveBeenCalledTimes(1);
  await pass(60);
  expect(one.table.sizes.pending).toBe(5);
});

test('a batch has at most four requests in flight, in order, and one per namespace', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const one = rig({ answers: { a: ['hang', 'ok'] } });
  for (const name of names) one.count(drop(name, name < 'd' ? 'shop' : `of-${name}`));
  await pass(1.01);
  expect(namesOf(one)).toEqual(['a', 'd', 'e', 'f']);
  await pass(1);
  expect(namesOf(one)).toEqual(['a', 'd', 'e', 'f', 'g']);
  one.hung.resolve();
  await pass(2);
  expect(namesOf(one)).toEqual(['a', 'd', 'e', 'f', 'g', 'b', 'c']);
  expect(one.most).toBe(4);
});

test('a batch ends when the API server refuses all Events: one is tried until that is over, then the others together', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const names = Array.from({ length: 12 }, (_, number) => `pod-${String.fromCodePoint(97 + number)}`);
  const one = rig({ answers: Object.fromEntries(names.map((name) => [name, [503, 503, 'ok']])) });
  for (const name of names) one.count(drop(name, `of-${name}`));
  await pass(1.5);
  expect(one.writes).toHaveLength(4);
  await pass(1);
  expect(namesOf(one).slice(4)).toEqual(['pod-a']);
  await pass(2.1);
  expect(one.results.slice(5, 7)).toEqual(['create ok pod-a', 'create unavailable pod-b']);
  await pass(120);
  expect(one.table.sizes.pending).toBe(0);
});

test('if one Event of a batch cannot be built, the others are written', async () => {
  const one = rig({ answers: { a: ['throw'] } });
  for (const name of ['a', 'b']) one.count(drop(name, `of-${name}`));
  await pass(2);
  expect(one.results).toEqual(['create failed a', 'create ok b']);
});

test('Events of other namespaces are written in time, in this batch and later, each after one sync', async () => {
  const keep = vi.fn<() => Promise<void>>(async () => {});
  const one = rig({ answers: { 'hung-0': ['hang'] }, keep });
  for (let number = 0; number < 5; number++) one.count(drop(`hung-${number}`, 'hung'));
  for (let number = 0; number < 5; number++) one.count(drop(`a-${number}`));
  await pass(1.5);
  expect(namesOf(one).toSorted()).toEqual(['a-0', 'a-1', 'a-2', 'a-3', 'a-4', 'hung-0']);
  const waits: number[] = [];
  for (let number = 0; number < 20; number++) {
    const counted = seconds();
    one.count(drop(`later-${number}`));
    await pass(2);
    waits.push((timesOf(`later-${number}`, one)[0] ?? Infinity) - counted);
  }
  // Each of them is due after a second.
  expect(Math.max(...waits)).toBeLessThanOrEqual(1.1);
  expect(namesOf(one).filter((name) => name.startsWith('hung'))).toEqual(['hung-0']);
  expect(keep).toHaveBeenCalledTimes(1 + 20);
});

test("Events that waited for a namespace's admission are written once it no longer hangs, each in its last saved form", async () => {
  const one = rig({ answers: { 'hung-0': ['hang', 'ok'] } });
  for (let number = 0; number < 3; number++) one.count(drop(`hung-${number}`, 'hung'), 2);
  await pass(20);
  one.hung.resolve();
  await pass(21);
  expect(one.results).toEqual(['create ok hung-0', 'create ok hung-1', 'create ok hung-2']);
  expect(one.written).toEqual([2, 2, 2]);
  expect(one.table.sizes.pending).toBe(0);
});

test('each write of a hanging namespace is given up, again and again: other namespaces are written at any time', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({ answers: { hung: ['time-out'] } });
  one.count(drop('hung', 'hung'));
  for (let minute = 0; minute < 10; minute++) {
    await pass(47);
    one.count(drop(`minute-${minute}`));
    await pass(2.1);
    expect(one.results.at(-1)).toBe(`create ok minute-${minute}`);
    await pass(10.9);
  }
  expect(timesOf('hung', one).length).toBeGreaterThan(4);
  expect(timesOf('hung', one).length).toBeLessThan(12);
});

test('each write of a slow namespace takes three seconds: all its Events are written, others meanwhile', async () => {
  const names = Array.from({ length: 5 }, (_, number) => `slow-${number}`);
  const one = rig({ answers: Object.fromEntries(names.map((name) => [name, ['slow', 'ok']])) });
  for (const name of names) one.count(drop(name, 'slow'));
  one.count(drop('a'));
  await pass(2);
  one.count(drop('b'));
  await pass(1.1);
  expect(one.results).toEqual(['create ok a', 'create ok b']);
  await pass(40);
  expect(one.results).toHaveLength(7);
  expect(one.most).toBeLessThanOrEqual(2);
});

test('twenty hanging namespaces have twelve requests in flight, and once these are given up, others are written in time', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const names = Array.from({ length: 20 }, (_, number) => `hung-${String(number).padStart(2, '0')}`);
  const one = rig({ answers: Object.fromEntries(names.map((name) => [name, ['hang', 500]])) });
  for (const name of names) one.count(drop(name, `of-${name}`));
  await pass(20);
  expect(one.writes).toHaveLength(12);
  expect(one.most).toBe(12);
  one.hung.resolve();
  await pass(10);
  one.count(drop('a'));
  await pass(1.1);
  expect(one.results.at(-1)).toBe('create ok a');
});

test('an API server that hangs: twelve requests at first, then two at a time test whether it still hangs', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const names = Array.from({ length: 30 }, (_, number) => `pod-${String(number).padStart(2, '0')}`);
  const later = names.map((name) => `later-${name}`);
  const one = rig({ answers: Object.fromEntries([...names, ...later].map((name) => [name, ['time-out']])) });
  for (const name of names) one.count(drop(name, `of-${name}`));
  await pass(30);
  expect(one.writes).toHaveLength(12);
  // The last of the twelve writes began 3 s after the first.
  await pass(5);
  const { length } = one.results;
  expect(length).toBe(12);
  const { nextDue } = one.table;
  let looks = 0;
  vi.spyOn(one.table, 'nextDue').mockImplementation(() => {
    // While two Events are in flight, due Events are looked at only with pauses.
    if (++looks > 3000) throw new Error('it spins');
    return nextDue();
  });
  for (const name of later) {
    one.count(drop(name, `of-${name}`));
    await pass(10);
  }
  expect((one.results.length - length) / (300 / 30)).toBeLessThanOrEqual(2);
  expect(one.results.length).toBeGreaterThan(length);
});

describe('an API server that is away', () => {
  test.each([0, 408, 502, 503, 504, 599])('(%i) is tried again with growing pauses', async (status) => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const one = rig({ answers: { a: [status] } });
    one.count(drop('a'));
    await pass(300);
    const times = timesOf('a', one);
    const waits = times.slice(1).map((time, index) => Math.round(time - (times[index] ?? 0)));
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(new Set(one.results)).toEqual(new Set(['create unavailable a']));
    expect(one.most).toBe(1);
  });

  test('is asked by every node at a different time', async () => {
    const random = vi.spyOn(Math, 'random');
    const times: string[] = [];
    for (const share of [0.2, 0.7]) {
      random.mockReturnValue(share);
      vi.setSystemTime(start);
      const one = rig({ answers: { a: [0] } });
      one.count(drop('a'));
      await pass(120);
      times.push(timesOf('a', one).slice(1, 4).map(Math.round).join(' '));
    }
    expect(times[0]).not.toBe(times[1]);
  });

  test('first gets waiting Events at the pace of updates, and later first Events at once again', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const names = ['a', 'b', 'c', 'd'];
    const answers = Object.fromEntries(names.map((name): [string, Answer[]] => [name, [503, 'ok']]));
    const one = rig({ answers, others: { rate: 1, burst: 1 } });
    for (const name of names) one.count(drop(name, `of-${name}`));
    await pass(20);
    const late = names.map((name) => `late-${name}`);
    for (const name of late) one.count(drop(name, `of-${name}`));
    await pass(2);
    expect(names.map((name) => Math.floor(timesOf(name, one).at(-1) ?? 0))).toEqual([2, 3, 4, 5]);
    expect(late.map((name) => timesOf(name, one).map(Math.floor))).toEqual([[21], [21], [21], [21]]);
  });

  test('is not asked more often when further series become due', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const one = rig({ answers: { a: [0], b: [0], c: [0] } });
    one.count(drop('a'));
    await pass(10);
    for (const name of ['b', 'c']) one.count(drop(name));
    await pass(20);
    one.publisher.wake();
    await pass(1);
    expect(one.writes.length).toBeLessThanOrEqual(6);
    expect(new Set(namesOf(one))).toEqual(new Set(['a']));
  });

  test.each([30, 600])(
    'an API server that states a pause (%i s) is asked no earlier, even if the publisher is woken',
    async (wait) => {
      vi.spyOn(Math, 'random').mockReturnValue(1);
      const one = rig({ answers: { a: [[429, wait], 'ok'] } });
      one.count(drop('a'));
      await pass(2);
      for (let passed = 2; passed < wait; passed += 1) {
        one.count(drop(`other-${passed}`));
        one.publisher.wake();
        await pass(1);
      }
      expect(one.writes).toEqual(['1 a']);
      await pass(10);
      const [, again = 0] = timesOf('a', one);
      expect(again).toBeGreaterThanOrEqual(wait + 1);
      expect(again).toBeLessThanOrEqual(wait + 3);
      expect(one.results.slice(0, 2)).toEqual(['create throttled a', 'create ok a']);
    },
  );
});

test('no other Event of that namespace is tried before the stated pause is over', async () => {
  const one = rig({ answers: { limited: [[429, 30], 'ok'] } });
  one.count(drop('limited', 'team-a'));
  await pass(1.5);
  for (let number = 0; number < 5; number++) one.count(drop(`more-${number}`, 'team-a'));
  one.count(drop('other', 'team-b'));
  await pass(28);
  expect(one.results).toEqual(['create throttled limited', 'create ok other']);
  expect(timesOf('other', one)).toEqual([2.5]);
  await pass(10);
  expect(one.results).toHaveLength(8);
});

test('429 for one namespace over and over: it is tried with growing pauses, and others at any time', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({ answers: { limited: [429] } });
  one.count(drop('limited', 'team-a'));
  for (let minute = 0; minute < 10; minute++) {
    one.count(drop(`minute-${minute}`));
    await pass(60);
  }
  expect(one.results.filter((result) => result.startsWith('create ok'))).toHaveLength(10);
  expect(timesOf('limited', one).length).toBeLessThanOrEqual(16);
  expect(timesOf('limited', one).at(-1)).toBeGreaterThan(530);
});

test("429 by EventRateLimit for many namespaces of one tenant: another tenant's Event is written at once", async () => {
  const message = 'Too many requests: limit reached on type Namespace for key x';
  const names = Array.from({ length: 20 }, (_, number) => `pod-${number}`);
  const one = rig({
    write: async ({ finding: { regarding }, count, published }) =>
      regarding.namespace === 'shop'
        ? {
            kind: 'written',
            verb: 'create',
            packets: count,
            published: { ...published, count, writes: 1, at: Date.now() },
          }
        : { kind: 'refused', verb: 'create', refusal: { ...refusal(429, 'TooManyRequests', 30 * second), message } },
  });
  for (const name of names) one.count(drop(name, `of-${name}`));
  await pass(2);
  one.count(drop('a'));
  await pass(1.1);
  expect(one.results.at(-1)).toBe('create ok a');
  expect(one.writes).toHaveLength(21);
});

test('429 of API Priority and Fairness: all namespaces wait', async () => {
  const message = 'Too many requests, please try again later.';
  const one = rig({
    write: async () => ({ kind: 'refused', verb: 'create', refusal: { ...refusal(429, '', 30 * second), message } }),
  });
  one.count(drop('a', 'team-a'));
  await pass(2);
  one.count(drop('b', 'team-b'));
  await pass(20);
  expect(namesOf(one)).toEqual(['a']);
});

test('429 for more namespaces before any write succeeded: all wait, and one write tests whether it still applies', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const names = Array.from({ length: 20 }, (_, number) => `pod-${number}`);
  const one = rig({ answers: Object.fromEntries(names.map((name) => [name, [429]])) });
  for (const name of names) one.count(drop(name, `of-${name}`));
  await pass(2);
  expect(one.writes).toHaveLength(5);
  await pass(58);
  expect(one.writes.length).toBeLessThanOrEqual(10);
});

test('a slow write that is refused like all others is tried again after the back-off', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({
    async write() {
      await new Promise((resolve) => setTimeout(resolve, 3 * second));
      return { kind: 'refused', verb: 'create', refusal: refusal(401, 'Unauthorized') };
    },
  });
  one.count(drop('a'));
  await pass(6);
  expect(timesOf('a', one)).toEqual([1, 5]);
});

test('401: the token is read again, and the write is tried again', async () => {
  const one = rig({ answers: { a: [401, 401, 'ok'] } });
  one.count(drop('a'));
  await pass(20);
  expect(one.unauthorized).toHaveLength(2);
  expect(one.results).toEqual(['create unauthorized a', 'create unauthorized a', 'create ok a']);
});

test.each<[title: string, answers: Answer[], results: string[], times: number[], abandoned: string[]]>([
  ['500: it is set aside for a minute', [500, 'ok'], ['create failed a', 'create ok a'], [1, 61.02], []],
  [
    '409: it is tried again a second later',
    [[409, 'Conflict'], 'ok'],
    ['create conflict a', 'create ok a'],
    [1, 2.02],
    [],
  ],
  ['403: it is tried again within a minute', [403, 'ok'], ['create forbidden a', 'create ok a'], [1, 31.02], []],
  ...[400, 413, 422].map((status): [string, Answer[], string[], number[], string[]] => [
    `${status}: it is given up`,
    [status],
    ['create invalid a'],
    [1],
    ['invalid'],
  ]),
  ['an Event of another program: it is given up', ['foreign'], ['read foreign a'], [1], ['foreign']],
])('a refusal: %s, and others are written meanwhile', async (_, answers, results, times, abandoned) => {
  const one = rig({ answers: { a: answers } });
  for (const name of ['a', 'b']) one.count(drop(name));
  await pass(3600);
  const [first = '', ...later] = results;
  expect(one.results).toEqual([first, 'create ok b', ...later]);
  expect([timesOf('a', one), timesOf('b', one)]).toEqual([times, [1.02]]);
  expect(one.abandoned).toEqual(abandoned);
  expect(one.table.sizes.pending).toBe(0);
});

test.each([403, 401, 404, 422, 429])(
  'a refusal: %i of a policy, not of a missing right: it is tried again every ten minutes, and others are written meanwhile',
  async (status) => {
    const message = `events "a" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`;
    const denial = { kind: 'refused', status, reason: '', message, retryAfter: undefined } as const;
    const one: Rig = rig({
      write: async ({ count, published, finding: { identity } }) =>
        identity === 'a'
          ? { kind: 'refused', verb: 'create', refusal: denial }
          : { kind: 'written', verb: 'create', packets: count, published: { ...published, count, at: Date.now() } },
    });
    for (const name of ['a', 'b']) one.count(drop(name));
    await pass(25);
    expect(one.results).toEqual(['create denied a', 'create ok b']);
    await pass(1200);
    expect(timesOf('a', one)).toEqual([1, 601, 1201]);
    expect(one.abandoned).toEqual([]);
    expect(one.unauthorized).toEqual([]);
  },
);

test('an Event that was given up is tried again with the first packet after ten minutes', async () => {
  const one = rig({ answers: { a: [422, 'ok'] } });
  for (let packets = 0; packets <= 60; packets++) {
    one.count(drop('a'));
    await pass(10);
  }
  expect(one.results).toEqual(['create invalid a']);
  expect(one.abandoned).toEqual(['invalid']);
  one.count(drop('a'));
  await pass(10);
  expect(one.results).toEqual(['create invalid a', 'create ok a']);
});

test('Events that a quota refuses over and over do not delay updates', async () => {
  const answers = Object.fromEntries(Array.from({ length: 40 }, (_, each) => [`refused ${each}`, [403]]));
  const one = rig({ answers, budget: { rate: 1, burst: 25 } });
  for (const name of Object.keys(answers)) one.count(drop(name));
  for (let packets = 0; packets < 300; packets++) {
    one.count(drop('a'));
    await pass(3);
  }
  // One write each after 1 s, 30 s, 1, 2, 4 and 8 minutes, apart from the time that others take.
  expect(timesOf('a', one)).toHaveLength(5);
});

const gone: [string, Answer, string][] = [
  ['being deleted', [403, 'NamespaceTerminating'], 'terminating'],
  ['gone', [404, 'NamespaceNotFound'], 'gone'],
];

test.each(gone)(
  'a terminating namespace (%s) has a cooldown of ten minutes, others have none',
  async (_, answer, result) => {
    const one = rig({ answers: { a: [answer] } });
    for (const name of ['a', 'b', 'c']) one.count(drop(name, 'old'));
    one.count(drop('d'));
    await pass(60);
    expect(one.writes).toEqual(['1 a', '1 d']);
    expect(one.results).toEqual([`create ${result} a`, 'create ok d']);
    expect(one.abandoned).toEqual([result, 'muted', 'muted']);
    one.count(drop('e', 'old'));
    await pass(500);
    expect(one.writes).toHaveLength(2);
    await pass(60);
    one.count(drop('f', 'old'));
    await pass(10);
    expect(namesOf(one)).toEqual(['a', 'd', 'f']);
  },
);

test("a terminating namespace uses nothing of others' budget", async () => {
  const one = rig({ answers: { a: [[403, 'NamespaceTerminating']] }, budget: { rate: 0.01, burst: 2 } });
  one.count(drop('a', 'old'));
  for (let number = 0; number < 9; number++) one.count(drop(`b${number}`, 'old'));
  one.count(drop('c'));
  await pass(10);
  expect(namesOf(one)).toEqual(['a', 'c']);
  await pass(100);
  expect(namesOf(one)).toEqual(['a', 'c']);
  expect(one.table.sizes.pending).toBe(0);
});

test.each<[string, Record<string, Answer[]>, string[]]>([
  ['its namespace is going', { a: [[403, 'NamespaceTerminating']] }, ['a', 'c', 'd']],
  ['its namespace is throttled', { a: [[429, 60], 'ok'] }, ['a', 'c', 'd']],
  ['all writes are refused', { a: [401, 'ok'] }, ['a', 'c', 'a', 'd']],
])('the token of an Event that is not tried is given to the next one at once: %s', async (_, answers, names) => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({ answers, budget: { rate: 0.01, burst: names.length } });
  for (const name of ['a', 'b']) one.count(drop(name, 'old'));
  for (const name of ['c', 'd']) one.count(drop(name));
  await pass(30);
  expect(namesOf(one)).toEqual(names);
});

/** Stops the publisher; returns how many seconds that took. */
async function stop({ publisher }: Rig, grace: number): Promise<number> {
  const before = Date.now();
  const stopped = publisher.stop(grace * second).then(() => (Date.now() - before) / second);
  const [took] = await Promise.all([stopped, pass(grace + 1)]);
  return took;
}

test('stopping ends an idle loop at once', async () => {
  const one = rig();
  await pass(5);
  expect(await stop(one, 10)).toBe(0);
  await one.finished;
  one.count(drop('a'));
  await pass(60);
  expect(one.writes).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('stopping leaves series that are not due yet', async () => {
  const one = rig();
  one.count(drop('a'));
  expect(await stop(one, 10)).toBe(0);
  await pass(60);
  expect(one.writes).toEqual([]);
});

test('stopping writes series that are due', async () => {
  const one = rig({ budget: { rate: 1, burst: 10 }, answers: { a: ['hang', 'ok'] } });
  for (const name of ['a', 'b', 'c']) one.count(drop(name));
  await pass(1.5);
  setTimeout(one.hung.resolve, 200);
  await stop(one, 10);
  expect(new Set(namesOf(one))).toEqual(new Set(['a', 'b', 'c']));
  expect(one.most).toBe(1);
  await pass(60);
  expect(one.table.sizes.pending).toBe(0);
  expect(one.results.filter((result) => result.includes(' ok '))).toHaveLength(one.results.length);
});

test('stopping waits for a hanging write for a limited time, and begins no other one', async () => {
  const one = rig({ answers: { a: ['hang'], b: ['hang'] } });
  for (const name of ['a', 'b', 'c', 'd']) one.count(drop(name));
  await pass(1.5);
  expect(await stop(one, 5)).toBe(5);
  const { length } = one.writes;
  one.hung.resolve();
  await pass(600);
  expect(one.writes).toHaveLength(length);
});

test('stopping in a back-off tries once more, and gives up if that fails', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({ answers: { a: [0], b: [0] } });
  for (const name of ['a', 'b']) one.count(drop(name));
  await pass(20);
  const { length } = one.writes;
  expect(await stop(one, 10)).toBeLessThanOrEqual(0.1);
  expect(namesOf(one).slice(length)).toEqual(['a']);
  await pass(600);
  expect(one.writes).toHaveLength(length + 1);
});

test('stopping continues with others after a refusal that concerns only one', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const one = rig({ answers: { a: [0, 0, 0, 0, 0, 403], b: [422] } });
  for (const name of ['a', 'b', 'c']) one.count(drop(name));
  await pass(30);
  await stop(one, 10);
  expect(one.results.slice(-3)).toEqual(['create forbidden a', 'create invalid b', 'create ok c']);
});

test('stopping keeps to the budget', async () => {
  const one = rig({ budget: { rate: 0.01, burst: 2 } });
  for (const name of ['a', 'b', 'c', 'd']) one.count(drop(name));
  vi.setSystemTime(Date.now() + 2 * second);
  await stop(one, 10);
  await pass(60);
  expect(namesOf(one)).toEqual(['a', 'b']);
});

test('stopping with no grace writes nothing more', async () => {
  const one = rig();
  one.count(drop('a'));
  vi.setSystemTime(Date.now() + 2 * second);
  await one.publisher.stop(0);
  await pass(60);
  expect(one.writes).toEqual([]);
});

test('stopping before the loop has begun, or twice, is harmless', async () => {
  const one = rig({ run: false });
  one.count(drop('a'));
  vi.setSystemTime(Date.now() + 2 * second);
  await stop(one, 10);
  await stop(one, 10);
  await one.publisher.run();
  expect(namesOf(one)).toEqual(['a']);
});
