import { expect, test } from 'vitest';
import type { JsonValue } from '../../../../src/read/sources/source.ts';
import {
  createRecordJoiner,
  type JoinerCounts,
  type RecordJoiner,
  type RecordLine,
} from '../../../../src/read/sources/records/joiner.ts';
import { type FakeTime, fakeTime } from '../fake-time.ts';

const header = 'E1121 09:00:00.836390       1 proxier.go:1564] ';

interface Scene {
  joiner: RecordJoiner;
  counts: JoinerCounts;
  time: FakeTime;
  records: RecordLine[];
  /** Takes lines, all of which matter except those that begin with `-`. */
  take: (...lines: string[]) => void;
}

function scene(saved?: JsonValue, onRecord: (scene: Scene) => void = () => {}): Scene {
  const time = fakeTime(1000);
  const records: RecordLine[] = [];
  const counts = { cut: 0, dangling: 0 };
  let number = 0;
  const joiner = createRecordJoiner({
    saved,
    timing: time,
    counts,
    onRecord(record) {
      records.push(record);
      onRecord(result);
    },
  });
  const take = (...lines: string[]): void => {
    for (const text of lines)
      joiner.take({ text: text.replace(/^-/, ''), time: 10 * ++number, number }, false, !text.startsWith('-'));
  };
  const result: Scene = { joiner, counts, time, records, take };
  joiner.start();
  return result;
}

const textsOf = ({ records }: Scene): string[] => records.map(({ text }) => text);

test('irrelevant records are skipped, with their continuation lines', () => {
  const here = scene();
  here.take(`-${header}"quiet"`, `${header}"a"`, '-and more', `-${header}"quiet"`);
  expect(textsOf(here)).toEqual([`${header}"a"\nand more`]);
  expect(here.joiner.isOpen).toBe(false);
});

test('a relevant line without a header is a record', () => {
  const here = scene();
  here.take(`-${header}"quiet"`, '\texit status 2: iptables-restore', '-\tmore');
  here.time.advance(500);
  expect(textsOf(here)).toEqual(['\texit status 2: iptables-restore\n\tmore']);
});

test('the next run waits for it no longer than this one', () => {
  const first = scene();
  first.take(`${header}"a"`);
  const second = scene(first.joiner.position);
  second.time.advance(500);
  expect(textsOf(second)).toEqual([`${header}"a"`]);
});

test('the next run gets the line that arrived when a listener stopped this one', () => {
  const first = scene(undefined, ({ joiner }) => joiner.stop());
  first.take(`${header}"a"`, `${header}"b"`);
  expect(textsOf(first)).toEqual([`${header}"a"`]);
  expect(first.time.pending).toBe(0);
  const second = scene(first.joiner.position);
  second.time.advance(500);
  expect(textsOf(second)).toEqual([`${header}"b"`]);
});

test.each<[JsonValue]>([
  [null],
  ['x'],
  [{ open: { line: { text: 1, number: 1 }, kind: 'klog' } }],
  [{ open: { line: { text: 'a', number: 1 }, kind: 'x' } }],
  [{ part: 1 }],
])('the next run ignores %j', (saved) => expect(scene(saved).joiner.isOpen).toBe(false));
