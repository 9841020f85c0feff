import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createJournal } from '../../../src/read/sources/journald/journal.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { cursorOf, fakeJournalctl, type JournalRecord, outputFor } from './fake-journalctl.ts';
import { fakeTime } from './fake-time.ts';
import { listening } from './heard.ts';
import { forAll } from '../../for-all.ts';

const needle = 'IN=';

type Action =
  | { do: 'write'; messages: JournalRecord['message'][] }
  /** Prints this many more bytes. */
  | { do: 'print'; bytes: number }
  | { do: 'die' }
  | { do: 'restart' };

const message = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => `${text} IN=eth0 ${text}`),
  fc.array(fc.nat(255), { maxLength: 40 }),
  // These bytes could be taken for the end of a record and the beginning of the next one.
  fc.array(fc.constantFrom(...Buffer.from('\n\n__CURSOR=MESSAGE\n IN=\xff\0', 'latin1')), { maxLength: 60 }),
  fc.constantFrom('\n\n__CURSOR=s=1;i=1\nMESSAGE=IN=', '\n', '\nMESSAGE\n'),
);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('write' as const), messages: fc.array(message, { maxLength: 6 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('print' as const), bytes: fc.integer({ min: 1, max: 900 }) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'die' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
);

test('every record comes once and in order, for any chunks and any number of deaths of journalctl or the source', () => {
  forAll([fc.array(action, { maxLength: 60 })], { numRuns: 300 }, (actions) => {
    const journal: JournalRecord[] = [];
    const { heard, listener } = listening();
    const time = fakeTime(0);
    const { spawn, started } = fakeJournalctl();
    /** The bytes that the last journalctl has printed. */
    let at = 0;
    let running = 0;
    let lines = 0;
    const open = (saved: Position | undefined): Source => {
      const source = createJournal({ saved, since: 0, listener, needles: [needle], timing: time, spawn });
      source.start();
      return source;
    };
    const print = (bytes: number): void => {
      if (started.length > running) [running, at] = [started.length, 0];
      const current = started.at(-1);
      if (current === undefined) return;
      const output = Buffer.from(outputFor(current.args, journal), 'latin1');
      current.print(output.subarray(at, at + bytes));
      at = Math.min(output.length, at + bytes);
    };
    const die = (): void => {
      started.at(-1)?.end(null, 'SIGKILL');
      time.advance(60_000);
    };

    let source = open(undefined);
    for (const each of actions) {
      if (each.do === 'write')
        for (const text of each.messages) journal.push({ number: journal.length + 1, message: text });
      else if (each.do === 'print') print(each.bytes);
      else if (each.do === 'die') die();
      else {
        const { position } = source;
        lines += source.counts.lines;
        source.stop();
        source = open(position);
      }
    }
    print(Infinity);
    lines += source.counts.lines;

    const expected = journal.filter((record) => Buffer.from(record.message as string).includes(needle));
    // Some of these messages look like an envelope, which is then removed.
    expect(heard.lines.map(({ time: stamp }) => stamp / 1000 - 1_795_000_000)).toEqual(
      expected.map(({ number }) => number),
    );
    for (const [index, { text }] of heard.lines.entries())
      expect(asText((expected[index] as JournalRecord).message)).toContain(text);
    expect(lines).toBe(journal.length);
    expect(heard.losses).toEqual([]);
    expect(source.position).toEqual(journal.length === 0 ? undefined : { cursor: cursorOf(journal.length) });
    source.stop();
    expect(time.pending).toBe(0);
  });
});

function asText(text: JournalRecord['message']): string {
  const bytes = Buffer.from(text as string);
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
