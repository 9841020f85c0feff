/** The wording of the reasons why a state is not continued. The other tests assert what is restored, files and versions only. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSegments } from '../../../src/publish/state/read-segments.ts';
import { checksum, segmentFile } from '../../../src/publish/state/segments.ts';
import { restoreState } from '../../../src/publish/state/state.ts';
import { nine } from '../../builders.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';

const path = temporaryFolder();

test('a log that cannot be moved away stays', () => {
  const file = segmentFile(path('stays'), 1);
  mkdirSync(`${file}.unusable-2026-11-21T090000Z`, { recursive: true });
  writeFileSync(file, 'damaged\ndamaged\n');
  expect(restoreState(path('stays'), 'node-a', new Date(nine)).problem).toBe(
    `${file} cannot be used: the batch at character 0 of state-0000000001.log is not as it was written. It could not be moved away; starting with nothing counted`,
  );
});

test.each([
  [{ format: 'something else', version: 2 }, 'is not a state log of this program'],
  [{ format: 'kube-netfilter-tailer state log', version: 3 }, 'has version 3, this program reads 1'],
])('a segment with the header %j counts as damage', (header, reason) => {
  const name = `version ${header.version} of ${header.format}`;
  mkdirSync(path(name));
  const body = JSON.stringify(header);
  writeFileSync(segmentFile(path(name), 1), `${checksum(body)} ${body}\n`);
  expect(readSegments(path(name)).damage).toBe(`state-0000000001.log ${reason}`);
});
