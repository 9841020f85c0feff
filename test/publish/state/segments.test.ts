import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readSegments } from '../../../src/publish/state/read-segments.ts';
import {
  encodeBatch,
  ifMissing,
  isNoRoom,
  lossIn,
  numbersOf,
  segmentFile,
  segmentsIn,
} from '../../../src/publish/state/segments.ts';
import { systemError } from '../../read/sources/fake-ring.ts';
import { descriptorsOf } from '../../read/sources/following.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { createOpenSegments } from './open-segments.ts';

const folder = temporaryFolder();
const openSegment = createOpenSegments();

test('segments have exactly ten digits as their name, oldest first', () => {
  const files = ['state-0000000010.log', 'state-0000000002.log', 'state-2.log', 'old-state-0000000003.log'];
  expect(numbersOf([...files, 'state-0000000004.log.bak', 'state-0000000001.log'])).toEqual([1, 2, 10]);
});

test('a missing folder has no segments, and an unreadable one is an error', async () => {
  expect(await segmentsIn(folder('absent'))).toEqual([]);
  writeFileSync(folder('file'), '');
  await expect(segmentsIn(folder('file'))).rejects.toThrow('ENOTDIR');
});

test.each([
  ['ENOSPC', true],
  ['EDQUOT', true],
  ['EIO', false],
  ['', false],
])('%j means a full disk: %s', (code, expected) => {
  expect(isNoRoom(systemError(code))).toBe(expected);
  expect(isNoRoom(new Error('without a code'))).toBe(false);
});

test('only a file that does not exist counts as missing', () => {
  expect(ifMissing(systemError('ENOENT'))).toBeUndefined();
  expect(() => ifMissing(systemError('EACCES'))).toThrow('EACCES');
});

test('a batch has a line per fixed number of characters, and the last line ends it', () => {
  const lines = [...encodeBatch(['11', '22', '333', '4'], 4)].map((line) => line.toString().slice(9));
  expect(lines).toEqual(['{"continued":[11,22]}\n', '{"continued":[333,4]}\n', '[]\n']);
});

test('the loss of a folder is reported by file and size', async () => {
  const segment = await openSegment(folder('loss'), 1);
  const file = segmentFile(folder('loss'), 1);
  expect(await lossIn(folder('loss'), new Map([[1, segment.size]]))).toBeUndefined();
  expect(await lossIn(folder('loss'), new Map([[1, 7]]))).toBe(`${file} has ${segment.size} bytes, 7 were written`);
  expect(await lossIn(folder('loss'), new Map([[2, 7]]))).toBe(`${segmentFile(folder('loss'), 2)} was removed`);
  expect(await lossIn(folder('loss'), new Map([[1, undefined]]))).toBeUndefined();
});

test.each([
  ['ENOSPC', true, ['whole']],
  ['EIO', false, ['whole', 'half']],
])('after %s within a batch, a segment is usable: %s', async (code, usable, lines) => {
  const segment = await openSegment(folder(code), 1);
  const before = readFileSync(segmentFile(folder(code), 1), 'utf8');
  expect(segment.usable).toBe(true);
  await segment.append([Buffer.from('whole\n')]);
  const size = segment.size;
  await expect(segment.append(cutBy(code))).rejects.toThrow(code);
  expect(segment).toMatchObject({ usable, size });
  expect(
    readFileSync(segmentFile(folder(code), 1), 'utf8')
      .slice(before.length)
      .trim()
      .split('\n'),
  ).toEqual(lines);
});

test('a segment that cannot be created leaves no file open', async () => {
  const number = 1;
  await openSegment(folder('twice'), number);
  await expect(openSegment(folder('twice'), number)).rejects.toThrow('EEXIST');
  expect(descriptorsOf(segmentFile(folder('twice'), number))).toHaveLength(1);
});

test('a segment that no agent can have written is not read', () => {
  mkdirSync(segmentFile(folder('odd'), 1), { recursive: true });
  expect(readSegments(folder('odd'))).toMatchObject({ damage: 'state-0000000001.log is not a regular file' });
  mkdirSync(folder('large'));
  writeFileSync(segmentFile(folder('large'), 1), '');
  truncateSync(segmentFile(folder('large'), 1), 256 * 1024 * 1024 + 1);
  expect(() => readSegments(folder('large'))).toThrow('is larger than 256 MiB');
});

function* cutBy(code: string): Generator<Buffer> {
  yield Buffer.from('half\n');
  throw systemError(code);
}
