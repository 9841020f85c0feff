import { expect, test } from 'vitest';
import { createLastSeen, type LastSeenOptions } from '../../../src/agent/telemetry/minute.ts';
import { createMetrics } from '../../../src/agent/telemetry/metrics.ts';
import { nine } from '../../builders.ts';

/** Counts that can be raised, and the times in a scrape. */
function scene(restored?: LastSeenOptions['restored']) {
  const metrics = createMetrics({ version: '0.1.0' });
  const sources = [
    { name: 'journal', counts: { lines: 0 } },
    { name: 'containers', counts: { lines: 0 } },
  ] as [{ name: string; counts: { lines: number } }, { name: string; counts: { lines: number } }];
  const verdicts = { dropped: 0, rejected: 0, logged: 0, accepted: 0 };
  const counts = { eventsWritten: 0 };
  const clock = { now: nine };
  const { look } = createLastSeen({ metrics, sources, verdicts, counts, restored, now: () => clock.now });
  return { sources, verdicts, counts, clock, look, shown };

  async function shown(): Promise<string[]> {
    const text = await metrics.text();
    return text
      .split('\n')
      .filter((line) => /^\w+_last_(?:line|drop|event)_timestamp/.test(line))
      .map((line) => line.replace('kube_netfilter_tailer_last_', '').replace('_timestamp_seconds', ''));
  }
}

const seconds = nine / 1000;

test('nothing has been seen yet', async () => {
  const { look, shown } = scene();
  look();
  await expect(shown()).resolves.toEqual(['drop 0', 'event 0']);
});

test('a count that has grown gets the time of the check, and keeps it', async () => {
  const { sources, verdicts, counts, clock, look, shown } = scene();
  sources[0].counts.lines = 5;
  verdicts.rejected = 1;
  look();
  clock.now += 60_000;
  sources[1].counts.lines = 1;
  counts.eventsWritten = 1;
  look();
  clock.now += 60_000;
  look();
  await expect(shown()).resolves.toEqual([
    `line{source="journal"} ${seconds}`,
    `line{source="containers"} ${seconds + 60}`,
    `drop ${seconds}`,
    `event ${seconds + 60}`,
  ]);
});

test('a packet that was only logged or accepted is not a drop', async () => {
  const { verdicts, look, shown } = scene();
  verdicts.logged = 1;
  verdicts.accepted = 1;
  look();
  await expect(shown()).resolves.toContain('drop 0');
});

test('the last drop is remembered over a restart, as far as the state has it', async () => {
  const { look, shown } = scene({ lastDrop: nine - 5000, lastEvent: undefined });
  look();
  await expect(shown()).resolves.toEqual([`drop ${seconds - 5}`, 'event 0']);
});
