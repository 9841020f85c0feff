import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { withLock } from './control-plane/lock.ts';
import { run } from './network/command.ts';
import { outcomeWith } from './outcome.ts';
import { until } from './until.ts';

/** A wait that has no end hides what hangs: the test runner knows only the name of the test. */

const forever = (): Promise<never> => new Promise(() => {});

test('a wait ends with its problem if the look itself hangs', async () => {
  vi.useFakeTimers();
  try {
    const problem = until(forever, () => 'nobody listens').catch(String);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(await problem).toMatch(/nobody listens\n.*hangs/);
  } finally {
    vi.useRealTimers();
  }
});

test('a program that does not end is killed, and the error has its command', async () => {
  await expect(run('sleep', ['1000'], '', 50)).rejects.toThrow('sleep 1000: it has not ended after 0.05 s');
  const child = spawn('sleep', ['1001']);
  await expect(outcomeWith(child, '', 50)).rejects.toThrow('sleep 1001: it has not ended after 0.05 s');
  expect(child.killed).toBe(true);
});

test('who waits for a lock that is not let go gets its name', async () => {
  const name = `kube-netfilter-tailer-test-${randomUUID()}`;
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
  const holder = withLock(
    name,
    () => {},
    () => {
      hold();
      return end;
    },
  );
  await isHeld;
  const unused = vi.fn<() => Promise<void>>();
  await expect(withLock(name, () => {}, unused, 50)).rejects.toThrow(`others have held ${name} for 0.05 s`);
  expect(unused).not.toHaveBeenCalled();
  resolve();
  await holder;
});
