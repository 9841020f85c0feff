import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SilentWatchError, watchEvents } from '../../../src/agent/kubernetes/list-watch.ts';

/** An informer waits this long for the bookmark that comes every minute. */
const silence = 100_000;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function watchOf(stream: Parameters<typeof watchEvents>[0]['stream']) {
  return watchEvents({ stream }, '/api/v1/pods', {}, silence, new AbortController().signal);
}

test('if a proxy holds back the head of a watch until the first bookmark, the watch begins then', async () => {
  const head = Promise.withResolvers<AsyncIterable<Uint8Array>>();
  const events = watchOf((_path, _query, signal) => {
    signal.addEventListener('abort', () => head.reject(signal.reason));
    return head.promise;
  });
  const begins = events.next();
  await vi.advanceTimersByTimeAsync(75_000);
  head.resolve(chunks('{"type":"BOOKMARK"}\n'));

  expect(await begins).toEqual({ done: false, value: undefined });
  expect(await events.next()).toEqual({ done: false, value: { type: 'BOOKMARK' } });
});

test('a watch that never begins is given up after the longest allowed silence', async () => {
  const events = watchOf(
    (_path, _query, signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  const [outcome] = await Promise.allSettled([events.next(), vi.advanceTimersByTimeAsync(silence)]);
  expect(outcome).toEqual({ status: 'rejected', reason: expect.any(SilentWatchError) });
});

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
