import { appendFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { createBatchWriter } from '../../../src/publish/state/batch-writer.ts';
import { readSegments } from '../../../src/publish/state/read-segments.ts';
import { type Segment, segmentFile } from '../../../src/publish/state/segments.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { createOpenSegments } from './open-segments.ts';

/** Tests a state that is larger than the slice that is written with one change. */

const temporary = temporaryFolder();
const openSegment = createOpenSegments();
const filler = 'x'.repeat(2000);

/** A map of many large values; `set` notes a change. */
function createState(size: number) {
  const values = new Map(Array.from({ length: size }, (_, each) => [`key ${each}`, `0 ${filler}`]));
  let changes: StateChange[] = [];
  let revision = 0;
  return {
    values,
    set(this: void, key: string, value: string): void {
      values.set(key, `${value} ${filler}`);
      changes.push(['set', key, `${value} ${filler}`]);
      revision++;
    },
    kept: {
      revision: () => revision,
      takeChanges() {
        const taken = changes;
        changes = [];
        return taken;
      },
      *all(): IterableIterator<StateChange> {
        for (const [key, value] of values) yield ['set', key, value];
      },
    },
  };
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

test('after each write the folder has the whole state, even while it is being rewritten', async () => {
  const folder = temporary('rounds');
  const { values, set, kept } = createState(500);
  const writer = createBatchWriter({ folder, state: kept, create: openSegment, segmentSize: 1000, lost: () => {} });
  let most = 0;
  for (let round = 0; round < 1500; round++) {
    set(`key ${(round * 7) % 500}`, String(round));
    // oxlint-disable-next-line no-await-in-loop -- one write follows the other
    expect(await writer.write()).toBe(round + 1);
    most = Math.max(most, readdirSync(folder).length);
    if (round % 50 === 0 || round % 50 === 3) expect(readSegments(folder).values).toEqual(values);
  }
  expect(readSegments(folder).values).toEqual(values);
  // The full segment, and the next one while everything is written again.
  expect(most).toBe(2);
  expect(writer.size()).toBe(bytesIn(folder));
});

test('a write has the changes and a slice of the rest', async () => {
  const folder = temporary('slices');
  const { set, kept } = createState(500);
  const writer = createBatchWriter({ folder, state: kept, create: openSegment, lost: () => {} });
  set('key 0', '1');
  await writer.write();
  const whole = bytesIn(folder);
  expect(whole).toBeGreaterThan(500 * filler.length);
  set('key 1', '1');
  await writer.write();
  expect(bytesIn(folder) - whole).toBeLessThan(2 * filler.length);
});

test.each([
  ['there is no room, the segment is written on', true, 1],
  ['the disk fails, another one takes its place', false, 2],
])('if %s', async (_, usable, segments) => {
  const folder = temporary(`fails-${usable}`);
  const { values, set, kept } = createState(200);
  let failing = false;
  const create = async (...given: Parameters<typeof openSegment>): Promise<Segment> => {
    const segment = await openSegment(...given);
    return Object.create(segment, {
      append: {
        async value(...batch: Parameters<Segment['append']>) {
          if (failing && !usable) appendFileSync(segmentFile(folder, segment.number), 'half');
          if (failing) throw Object.assign(new Error('fails'), { code: usable ? 'ENOSPC' : 'EIO' });
          return await segment.append(...batch);
        },
      },
      usable: { get: () => usable || !failing },
    }) as Segment;
  };
  const losses: string[] = [];
  const writer = createBatchWriter({ folder, state: kept, create, lost: (loss) => losses.push(loss) });
  await writer.write();
  set('key 1', 'new');
  failing = true;
  await expect(writer.write()).rejects.toThrow('fails');
  failing = false;
  set('key 2', 'newer');
  await writer.write();
  await writer.write();
  expect([readSegments(folder).values, losses]).toEqual([values, []]);
  expect(statSync(segmentFile(folder, segments)).size).toBeGreaterThan(filler.length);
  expect(readdirSync(folder)).toHaveLength(1);
});
