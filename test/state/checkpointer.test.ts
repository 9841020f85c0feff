import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCheckpointer, type Checkpointer } from '../../src/state/checkpointer.ts';
import { readState } from '../../src/state/state-file.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

/** What a write waits for; an error makes it fail. */
type Gate = PromiseWithResolvers<Error | undefined>;

interface Rig {
  checkpointer: Checkpointer;
  /** Counts one more. */
  count: () => void;
  /** Reads on, without anything to count. */
  readOn: () => void;
  /** What was written, as `{"count":1,"position":0}`. */
  bodies: string[];
  /** What the writes wait for; none when empty. */
  gates: Gate[];
  saved: number[];
  /** The count that is on disk. */
  kept: () => number;
  failures: unknown[];
  /** Most writes at one time. */
  readonly most: number;
}

function rig(snapshot?: () => unknown): Rig {
  let [count, position, running, most, kept] = [0, 0, 0, 0, -1];
  const bodies: string[] = [];
  const gates: Rig['gates'] = [];
  const saved: number[] = [];
  const failures: unknown[] = [];
  const checkpointer = createCheckpointer({
    file: 'state.json',
    snapshot: snapshot ?? (() => ({ count, position })),
    revision: () => count,
    onSaved(bytes) {
      saved.push(bytes);
      kept = (JSON.parse(bodies.at(-1) ?? '') as { count: number }).count;
    },
    onFailed: (error) => void failures.push(error),
    async write(_, body) {
      bodies.push(body);
      most = Math.max(most, ++running);
      try {
        const error = await gates.shift()?.promise;
        if (error) throw error;
      } finally {
        running--;
      }
    },
  });
  return {
    checkpointer,
    bodies,
    gates,
    saved,
    failures,
    count: () => void count++,
    readOn: () => void position++,
    kept: () => kept,
    get most() {
      return most;
    },
  };
}

// How long a snapshot takes decides how long the next one waits, so a busy machine must not have a say in it.
beforeEach(() => {
  vi.spyOn(process.hrtime, 'bigint').mockReturnValue(0n);
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** Lets all go on that does not wait for a write. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Holds up one more write. */
function gate({ gates }: Rig): Gate {
  const made: Gate = Promise.withResolvers();
  gates.push(made);
  return made;
}

const body = (count: number, position = 0): string => JSON.stringify({ count, position });
const full = new Error('ENOSPC: no space left on device');
const unanswered = new Error('the disk does not answer');

describe('keep', () => {
  test('writes what was counted, at first even if it is nothing', async () => {
    const { checkpointer, count, bodies, saved } = rig();
    await checkpointer.keep();
    count();
    await checkpointer.keep();
    expect(bodies).toEqual([body(0), body(1)]);
    expect(saved).toEqual([body(0).length, body(1).length]);
  });

  test('writes nothing when nothing was counted since, not even that more was read', async () => {
    const { checkpointer, readOn, bodies } = rig();
    await checkpointer.keep();
    await checkpointer.keep();
    readOn();
    await checkpointer.keep();
    expect(bodies).toEqual([body(0)]);
  });

  test('during a write waits for another one with what it was called for', async () => {
    const one = rig();
    const [first, second] = [gate(one), gate(one)];
    const order: string[] = [];
    one.count();
    const kept = [one.checkpointer.keep().then(() => order.push('first'))];
    await settle();
    one.count();
    kept.push(one.checkpointer.keep().then(() => order.push('second')));
    one.count();
    kept.push(one.checkpointer.keep().then(() => order.push('third')));
    await settle();
    expect(one.bodies).toEqual([body(1)]);
    first.resolve(undefined);
    await settle();
    expect(order).toEqual(['first']);
    expect(one.bodies).toEqual([body(1), body(3)]);
    second.resolve(undefined);
    await Promise.all(kept);
    expect(order).toEqual(['first', 'second', 'third']);
    expect(one.bodies).toHaveLength(2);
  });

  test('during a write waits for the next one, even if nothing was counted since', async () => {
    const one = rig();
    const writing = gate(one);
    let kept = false;
    const first = one.checkpointer.keep();
    await settle();
    const second = one.checkpointer.keep().then(() => (kept = true));
    await settle();
    expect(kept).toBe(false);
    writing.resolve(undefined);
    await Promise.all([first, second]);
    expect(one.bodies).toEqual([body(0)]);
  });

  test('called again as soon as it is done never has two writes at a time', async () => {
    const one = rig();
    for (let write = 0; write < 8; write++) gate(one);
    const [first, ...others] = [...one.gates];
    const again = async (): Promise<void> => {
      await one.checkpointer.keep();
      one.count();
      await one.checkpointer.keep();
    };
    const done = Promise.all([again(), again(), again()]);
    await settle();
    one.count();
    first?.resolve(undefined);
    for (const { resolve } of others) {
      await settle();
      resolve(undefined);
    }
    await done;
    expect(one.most).toBe(1);
  });
});

describe('keepPositions', () => {
  test('writes what was read, too', async () => {
    const { checkpointer, readOn, bodies } = rig();
    await checkpointer.keepPositions();
    readOn();
    await checkpointer.keepPositions();
    expect(bodies).toEqual([body(0), body(0, 1)]);
  });

  test('does not write again what is there already', async () => {
    const { checkpointer, bodies } = rig();
    for (let time = 0; time < 3; time++) await checkpointer.keepPositions();
    expect(bodies).toEqual([body(0)]);
  });
});

describe('a write that fails', () => {
  test('is reported, and holds up no caller', async () => {
    const one = rig();
    const writing = gate(one);
    const kept = [one.checkpointer.keep(), one.checkpointer.keep(), one.checkpointer.keepPositions()];
    writing.resolve(full);
    await Promise.all(kept);
    expect(one.failures).toEqual([full]);
    expect(one.bodies).toEqual([body(0), body(0)]);
  });

  test('is made again with the next call, though nothing was counted since', async () => {
    const one = rig();
    gate(one).resolve(full);
    one.count();
    await one.checkpointer.keep();
    expect(one.saved).toEqual([]);
    await one.checkpointer.keep();
    expect(one.bodies).toEqual([body(1), body(1)]);
    expect(one.saved).toHaveLength(1);
    await one.checkpointer.keep();
    expect(one.bodies).toHaveLength(2);
  });

  test('after one that went well leaves that one as what is there', async () => {
    const one = rig();
    await one.checkpointer.keep();
    gate(one).resolve(full);
    one.readOn();
    await one.checkpointer.keepPositions();
    await one.checkpointer.keepPositions();
    expect(one.bodies).toEqual([body(0), body(0, 1), body(0, 1)]);
  });

  test('because of what is to be kept is no different', async () => {
    let broken = true;
    const one = rig(() => {
      if (broken) throw new RangeError('Invalid string length');
      return {};
    });
    await expect(one.checkpointer.keep()).resolves.toBeUndefined();
    expect(one.failures).toHaveLength(1);
    broken = false;
    await one.checkpointer.keep();
    expect(one.bodies).toEqual(['{}']);
  });
});

describe('a write that the disk does not answer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('has failed after ten seconds, and does not hold up whoever waits', async () => {
    const one = rig();
    gate(one);
    one.count();
    const kept = [one.checkpointer.keep(), one.checkpointer.keep(), one.checkpointer.keepPositions()];
    await vi.advanceTimersByTimeAsync(9999);
    expect(one.failures).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await Promise.all(kept);
    expect(one.failures).toEqual([unanswered, unanswered]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is the only one as long as it lasts; callers get an answer at once', async () => {
    const one = rig();
    gate(one);
    const first = one.checkpointer.keep();
    await vi.advanceTimersByTimeAsync(10_000);
    await first;
    for (let call = 0; call < 20; call++) {
      one.count();
      await one.checkpointer.keep();
      await one.checkpointer.keepPositions();
    }
    expect(one.bodies).toEqual([body(0)]);
    expect(one.failures).toHaveLength(41);
    expect(one.saved).toEqual([]);
  });

  test.each([
    ['well', undefined],
    ['with an error', full],
  ])('is followed by the newest state when it ends %s', async (_, error) => {
    const one = rig();
    const hung = gate(one);
    const first = one.checkpointer.keep();
    await vi.advanceTimersByTimeAsync(10_000);
    await first;
    one.count();
    await one.checkpointer.keep();
    hung.resolve(error);
    await settle();
    expect(one.bodies).toEqual([body(0), body(1)]);
    expect(one.saved).toHaveLength(1);
    expect(one.most).toBe(1);
  });

  test('may have put an older state in place: the same one as before is written again', async () => {
    const one = rig();
    await one.checkpointer.keep();
    const hung = gate(one);
    one.readOn();
    const second = one.checkpointer.keepPositions();
    await vi.advanceTimersByTimeAsync(10_000);
    await second;
    hung.resolve(full);
    await settle();
    expect(one.bodies).toEqual([body(0), body(0, 1), body(0, 1)]);
  });
});

/** Each snapshot takes that long. */
function taking(milliseconds: number): Rig {
  let clock = 0n;
  let snapshots = 0;
  vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => clock);
  return rig(() => {
    clock += BigInt(milliseconds * 1e6);
    return ++snapshots;
  });
}

describe('a large state', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test('is made only now and then, so that it takes a twentieth of the time at most', async () => {
    const { checkpointer, bodies, count } = taking(10);
    await checkpointer.keep();
    count();
    const kept = checkpointer.keep();
    await vi.advanceTimersByTimeAsync(180);
    expect(bodies).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(10);
    await kept;
    expect(bodies).toHaveLength(2);
  });

  test('that takes little is made at once', async () => {
    const { checkpointer, bodies, count } = taking(2);
    await checkpointer.keep();
    count();
    await checkpointer.keep();
    expect(bodies).toHaveLength(2);
  });
});

test('whatever is called when, what is kept has all that was counted before the call', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const step = fc.constantFrom('count', 'read on', 'keep', 'keep positions', 'written', 'failed', 'time', 'settle');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const one = rig();
      const open: Gate[] = [];
      const calls: Promise<void>[] = [];
      let counted = 0;
      for (let write = 0; write < 50; write++) open.push(gate(one));
      /** Unless a write failed meanwhile. */
      const expectKept = async (keep: () => Promise<void>): Promise<void> => {
        const [before, failed] = [counted, one.failures.length];
        await keep();
        if (one.failures.length === failed) expect(one.kept()).toBeGreaterThanOrEqual(before);
      };
      for (const each of steps) {
        if (each === 'count') {
          counted++;
          one.count();
        } else if (each === 'read on') one.readOn();
        else if (each === 'keep') calls.push(expectKept(one.checkpointer.keep));
        else if (each === 'keep positions') calls.push(expectKept(one.checkpointer.keepPositions));
        else if (each === 'written') open.shift()?.resolve(undefined);
        else if (each === 'failed') open.shift()?.resolve(full);
        else if (each === 'time') await vi.advanceTimersByTimeAsync(10_000);
        else await settle();
      }
      for (const { resolve } of open) resolve(undefined);
      await Promise.all(calls);
      one.gates.length = 0;
      await one.checkpointer.keepPositions();
      expect(one.kept()).toBe(counted);
      expect(one.most).toBeLessThanOrEqual(1);
    }),
    { numRuns: 200 },
  );
  vi.useRealTimers();
});

const path = temporaryFolder();

test('what is kept can be loaded', async () => {
  const file = path('state', 'state.json');
  const failures: unknown[] = [];
  const checkpointer = createCheckpointer({
    file,
    snapshot: () => ({ positions: {} }),
    revision: () => 0,
    onSaved: () => {},
    onFailed: (error) => void failures.push(error),
  });
  await checkpointer.keep();
  expect(failures).toEqual([]);
  expect(readState(file)).toMatchObject({ kind: 'state', state: { positions: {} } });
});
