import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLookup, type LookupOptions } from '../../../src/explain/resolving/lookups/lookup.ts';
import { createMemoryBudget } from '../../../src/base/platform/memory-budget.ts';
import { nine } from '../../builders.ts';
import { forAllAsync } from '../../for-all.ts';

const second = 1000;
const ages = { hit: 300 * second, miss: 60 * second, failed: 10 * second };

interface Asked {
  address: string;
  /** Undefined: there is no answer. */
  answer: (value: string | undefined) => Promise<void>;
  fail: () => Promise<void>;
}

function scene(given: Partial<LookupOptions<string>> = {}) {
  const clock = { now: nine };
  /** The requests that the source has not answered yet, in order. */
  const open: Asked[] = [];
  const asked: string[] = [];
  const settled: string[] = [];
  const lookup = createLookup<string>({
    find(address) {
      const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
      const one: Asked = {
        address,
        answer: (value) => done(() => resolve(value)),
        fail: () => done(() => reject(new Error('away'))),
      };
      const done = async (settle: () => void): Promise<void> => {
        open.splice(open.indexOf(one), 1);
        settle();
        await setImmediate();
      };
      open.push(one);
      asked.push(address);
      return promise;
    },
    onSettled: (address) => void settled.push(address),
    // One Namespace has half of the budget.
    budget: { rate: 0.5, burst: 8 },
    concurrency: { all: 2, each: 2 },
    entries: 100,
    ages,
    now: () => clock.now,
    ...given,
  });
  return { lookup, open, asked, settled, clock };
}

const four = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];

test('an answer is available when its arrival is reported, and nothing is pending then', async () => {
  const seen: unknown[] = [];
  const { lookup, open } = scene({
    onSettled: (address) => void seen.push(address, lookup.get(address), lookup.ask(address, 'shop')),
  });
  lookup.ask('10.0.0.1', 'shop');
  await open[0]?.answer('web-0');
  expect(seen).toEqual(['10.0.0.1', 'web-0', 'known']);
});

test('a failure may be thrown', async () => {
  const { lookup, settled } = scene({
    find: () => {
      throw new Error('not an address');
    },
  });
  for (const address of four) lookup.ask(address, 'shop');
  await setImmediate();
  expect(settled).toEqual(four);
  expect(lookup.counts).toMatchObject({ failed: 4 });
});

const flood = Array.from(
  { length: 100_000 },
  (_, number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`,
);

test('in a flood of 100,000 addresses: only the budget is used for requests, and known answers stay', () => {
  const { lookup, asked } = scene({ concurrency: { all: 2, each: 2 } });
  for (const address of four) lookup.learn(address, 'web-0');
  const states = flood.map((address) => lookup.ask(`${address}0`, 'shop'));
  expect(states.filter((state) => state === 'pending')).toHaveLength(4);
  expect(asked).toHaveLength(2);
  expect(lookup.counts.refused).toBe(100_000 - 4);
  expect(flood.map((address) => lookup.get(`${address}0`)).filter(Boolean)).toEqual([]);
  expect(four.map((address) => lookup.ask(address, 'shop'))).toEqual(['known', 'known', 'known', 'known']);
});

test('in a flood of 100,000 addresses: only the answers used last are remembered', () => {
  const { lookup } = scene();
  lookup.learn('10.0.0.1', 'web-0');
  for (const address of flood) {
    lookup.learn(`${address}0`, address);
    lookup.get('10.0.0.1');
  }
  expect(flood.filter((address) => lookup.get(`${address}0`) !== undefined)).toHaveLength(99);
  expect(lookup.get('10.0.0.1')).toBe('web-0');
});

test('addresses with slow answers leave a place free for another Namespace, whose turn is next', async () => {
  const { lookup, asked, open } = scene({ budget: { rate: 1, burst: 100 }, concurrency: { all: 3, each: 2 } });
  for (let number = 0; number < 20; number++) lookup.ask(`10.1.0.${number}`, 'evil');
  expect(asked).toEqual(['10.1.0.0', '10.1.0.1']);
  for (let number = 0; number < 3; number++) lookup.ask(`10.2.0.${number}`, 'shop');
  expect(asked.at(-1)).toBe('10.2.0.0');
  await open[2]?.answer('web-0');
  await open[2]?.answer('web-0');
  expect(asked.slice(3)).toEqual(['10.2.0.1', '10.2.0.2']);
});

/** What is known of an address, found in the slowest way. */
interface Heard {
  value: string | undefined;
  until: number;
  failed: boolean;
}

const address = fc.constantFrom(...four);
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('ask' as const), address }) },
    fc.record({ kind: fc.constant('learn' as const), address }),
    fc.record({
      kind: fc.constant('settle' as const),
      which: fc.nat({ max: 3 }),
      outcome: fc.constantFrom('web-0', 'web-1', undefined, 'failed'),
    }),
    fc.record({ kind: fc.constant('wait' as const), seconds: fc.constantFrom(1, 2, 9, 10, 60, 300, 3600) }),
  ),
  { maxLength: 40, size: 'max' },
);

test('any order of questions, answers and waits gives the answers of a simple model', async () => {
  await forAllAsync([steps], { numRuns: 300 }, async (program) => {
    const { lookup, open, settled, clock } = scene({ budget: { rate: 0.5, burst: 6 } });
    const heard = new Map<string, Heard>();
    const waiting: string[] = [];
    const done: string[] = [];
    const counts = { hit: 0, miss: 0, failed: 0, refused: 0, cached: 0 };
    let tokens = 3;
    const freshOf = (of: string): Heard | undefined => {
      const known = heard.get(of);
      return known !== undefined && known.until > clock.now ? known : undefined;
    };
    const stateOf = (of: string): ReturnType<typeof lookup.ask> => {
      if (waiting.includes(of)) return 'pending';
      const known = freshOf(of);
      if (known?.failed === false) return (counts.cached++, 'known');
      if (known !== undefined || tokens < 1) return (counts.refused++, 'refused');
      tokens--;
      waiting.push(of);
      return 'pending';
    };
    for (const step of program) {
      if (step.kind === 'wait') {
        clock.now += step.seconds * second;
        tokens = Math.min(3, tokens + step.seconds / 2);
      } else if (step.kind === 'ask') {
        const expected = stateOf(step.address);
        expect(lookup.ask(step.address, 'shop')).toBe(expected);
      } else if (step.kind === 'learn') {
        lookup.learn(step.address, 'web-2');
        heard.set(step.address, { value: 'web-2', until: clock.now + ages.hit, failed: false });
      } else {
        const one = open[step.which % Math.max(1, open.length)];
        if (one === undefined) continue;
        waiting.splice(waiting.indexOf(one.address), 1);
        done.push(one.address);
        const failed = step.outcome === 'failed';
        const end = failed ? 'failed' : step.outcome === undefined ? 'miss' : 'hit';
        counts[end]++;
        const value = failed ? heard.get(one.address)?.value : step.outcome;
        // An answer that came together with another one in the meantime is kept.
        if (end === 'hit' || freshOf(one.address) === undefined)
          heard.set(one.address, { value, until: clock.now + ages[end], failed });
        await (failed ? one.fail() : one.answer(step.outcome));
      }
      const underWay = open.map((each) => each.address);
      expect(new Set(underWay)).toEqual(new Set(waiting.slice(0, 2)));
      expect(underWay).toHaveLength(Math.min(2, waiting.length));
      for (const each of four) expect(lookup.get(each)).toBe(heard.get(each)?.value);
      expect({ counts: lookup.counts, settled }).toEqual({ counts, settled: done });
    }
  });
});

test('all kept answers are weighed and have room, and a Namespace with few small answers keeps them', async () => {
  const total = 20_000;
  const answered = fc.record({
    of: fc.integer({ min: 1, max: 40 }).map((index) => `10.1.0.${index}`),
    length: fc.nat(4000),
    how: fc.constantFrom('answer' as const, 'learn' as const, 'nobody' as const, 'fail' as const),
  });
  await forAllAsync([fc.array(answered, { maxLength: 60 })], { numRuns: 60 }, async (all) => {
    const memory = createMemoryBudget({ total, isPreferred: () => false });
    const { lookup, open, clock } = scene({
      entries: 30,
      budget: { rate: 1000, burst: 1000 },
      weighed: { memory, weigh: (value) => value.length, namespaceOf: (value) => value.split(' ', 1)[0] ?? '' },
    });
    const own = four.map((each) => `shop ${each}`);
    for (const [index, each] of four.entries()) lookup.learn(each, own[index] ?? '');

    for (const { of: asked, length, how } of all) {
      clock.now += 400 * second;
      const value = `evil ${'x'.repeat(length)}`;
      if (how === 'learn') lookup.learn(asked, value);
      else if (lookup.ask(asked, 'evil') === 'pending') {
        if (how === 'fail') await open[0]?.fail();
        else await open[0]?.answer(how === 'nobody' ? undefined : value);
      }
      // They are read, so that they are not the oldest.
      expect(four.map((each) => lookup.get(each))).toEqual(own);
      expect(memory.bytes).toBeLessThanOrEqual(total);
      const inMemory = [...new Set(all.map((each) => each.of)), ...four].flatMap((each) => lookup.get(each) ?? []);
      expect(memory.bytes).toBe(inMemory.reduce((sum, each) => sum + each.length + 200, 0));
    }
  });
});
