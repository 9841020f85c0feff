import { expect, test } from 'vitest';
import { createSharedText } from '../../../src/agent/telemetry/shared-text.ts';

function scene(size: number, interval = 1000) {
  const clock = { now: 0 };
  let made = 0;
  const text = async (): Promise<string> => String(++made).padEnd(size, 'x');
  return { clock, made: () => made, take: createSharedText(text, interval, () => clock.now) };
}

test('requests within a second get the same bytes', async () => {
  const { take, clock, made } = scene(10);
  const [one, other] = await Promise.all([take(), take()]);
  expect(one).toBe(other);
  clock.now += 1000;
  expect(await take()).not.toBe(one);
  expect(made()).toBe(2);
});

test('kept texts take at most 16 MiB but are at least two: past that, the latest is given again', async () => {
  for (const [size, most] of [
    [4_000_000, 5],
    [17_000_000, 2],
  ] as const) {
    const { take, clock } = scene(size);
    const given: { bytes: Buffer; at: number }[] = [];
    for (let second = 0; second < 40; second++) {
      clock.now += 1000;
      given.push({ bytes: await take(), at: clock.now });
      const taken = new Set(given.filter(({ at }) => at > clock.now - 10_000).map(({ bytes }) => bytes));
      expect(taken.size).toBeLessThanOrEqual(most);
    }
    // Even so, a new text is made about every ten seconds.
    expect(new Set(given.map(({ bytes }) => bytes)).size).toBeGreaterThanOrEqual(4);
  }
});

test('after a failure, the next request makes the text again', async () => {
  let times = 0;
  const take = createSharedText(
    () => (++times === 1 ? Promise.reject(new Error('broken')) : Promise.resolve('x')),
    1000,
  );
  await expect(take()).rejects.toThrow('broken');
  expect(String(await take())).toBe('x');
});
