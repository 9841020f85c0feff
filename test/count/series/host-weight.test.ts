import { expect, test } from 'vitest';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { createRecorder } from '../../../src/publish/events/recorder.ts';
import { heapInUse } from '../../heap.ts';

test('a host of a central log takes at most 20 KB before its first problem', async () => {
  const recorder = createRecorder({ createTable: () => createSeriesTable(), messageOf: () => '' });
  // Warms up: what is made only once is made here.
  for (let number = 0; number < 100; number++) recorder.series(`warm-${number}`);
  const before = await heapInUse();
  const hosts = 2000;
  for (let number = 0; number < hosts; number++) recorder.series(`node-${number}`);
  expect(((await heapInUse()) - before) / hosts).toBeLessThan(20_000);
  expect(recorder.tables()).toHaveLength(hosts + 100);
});
