import { isUtf8 } from 'node:buffer';
import { EventEmitter } from 'node:events';
import type { Millis } from '../../../src/base/model/log-line.ts';
import { createJournal, type JournalOptions } from '../../../src/read/sources/journald/journal.ts';
import type { Child, Spawn } from '../../../src/read/sources/journald/journalctl.ts';
import type { Source } from '../../../src/read/sources/source.ts';
import { type FakeTime, fakeTime } from './fake-time.ts';
import { type Heard, listening } from './heard.ts';

/** One journalctl that was started. */
export interface FakeJournalctl {
  args: readonly string[];
  readonly killed: boolean;
  /** The text is latin1: one character for each byte. */
  print: (output: string | Buffer) => void;
  printError: (text: string) => void;
  end: (code: number | null, signal?: string | null) => void;
  /** Reports that the program could not be started. */
  fail: (code: string) => void;
}

/** Starts programs that the test controls. */
export function fakeJournalctl(): { spawn: Spawn; started: FakeJournalctl[] } {
  const started: FakeJournalctl[] = [];
  return {
    started,
    spawn(command, args) {
      if (command !== 'journalctl') throw new Error(`started ${command}`);
      const [child, stdout, stderr] = [new EventEmitter(), new EventEmitter(), new EventEmitter()];
      let killed = false;
      const one: FakeJournalctl = {
        args,
        get killed() {
          return killed;
        },
        print: (output) =>
          void stdout.emit('data', typeof output === 'string' ? Buffer.from(output, 'latin1') : output),
        printError: (text) => void stderr.emit('data', Buffer.from(text)),
        end: (code, signal = null) => void child.emit('close', code, signal),
        fail(code) {
          child.emit('error', Object.assign(new Error(`spawn journalctl ${code}`), { code }));
          child.emit('close', -2, null);
        },
      };
      started.push(one);
      return Object.assign(child, {
        stdout: Object.assign(stdout, { destroy, pause: destroy, resume: destroy }),
        stderr: Object.assign(stderr, { destroy, pause: destroy, resume: destroy }),
        kill: () => (killed = true),
        unref: () => {},
      }) as unknown as Child;
    },
  };
}

const destroy = (): void => {};

/** A record as journald has it. */
export interface JournalRecord {
  number: number;
  message: string | readonly number[];
  fields?: Readonly<Record<string, string>>;
}

export const cursorOf = (number: number): string =>
  `s=5e1;i=${number.toString(16)};b=b007;m=${number.toString(16)};t=${(1e6 + number).toString(16)};x=c0de`;

/** Prints a record as `journalctl -o export` does, with its empty line; latin1. */
export function printed(record: JournalRecord): string {
  return `${Object.entries(fieldsOf(record))
    .map(([name, value]) => fieldAsExported(name, Buffer.from(value as string)))
    .join('')}\n`;
}

/** Prints a record as `journalctl -o json` does, with its newline. */
export function printedAsJson(record: JournalRecord): string {
  return `${JSON.stringify(fieldsOf(record))}\n`;
}

function fieldsOf({ number, message, fields }: JournalRecord): Record<string, string | readonly number[]> {
  return {
    __CURSOR: cursorOf(number),
    __REALTIME_TIMESTAMP: String((1_795_000_000 + number) * 1e6),
    _TRANSPORT: 'kernel',
    SYSLOG_FACILITY: '0',
    SYSLOG_IDENTIFIER: 'kernel',
    _HOSTNAME: 'node-a',
    MESSAGE: message,
    ...fields,
  };
}

/**
 * systemd, src/shared/logs-show.c, output_export: a value that is not UTF-8, or has control characters, is preceded by
 * its length.
 */
function fieldAsExported(name: string, value: Buffer): string {
  const text = value.toString('latin1');
  // eslint-disable-next-line no-control-regex
  if (isUtf8(value) && !/[\x00-\x08\x0a-\x1f\x7f]|\xc2[\x80-\x9f]/.test(text)) return `${name}=${text}\n`;
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(value.length));
  return `${name}\n${length.toString('latin1')}${text}\n`;
}

/**
 * Returns what journalctl prints of a journal when started with these arguments; the first records of the journal may
 * be gone.
 */
export function outputFor(args: readonly string[], journal: readonly JournalRecord[]): string {
  const wanted = args.find((arg) => arg.startsWith('--cursor='))?.slice('--cursor='.length);
  const first = wanted === undefined ? 0 : parseInt(/;i=([0-9a-f]+)/.exec(wanted)?.[1] ?? '', 16);
  return journal
    .filter(({ number }) => number >= first)
    .map((record) => printed(record))
    .join('');
}

export const start: Millis = 1_795_000_000_500;

export interface JournalScene {
  source: Source;
  heard: Heard;
  time: FakeTime;
  /** The journalctl that was last started. */
  readonly current: FakeJournalctl;
  readonly started: FakeJournalctl[];
  print: (...records: JournalRecord[]) => void;
}

/** A source that has been started. */
export function journalScene(
  options: Partial<JournalOptions> & Pick<JournalOptions, 'needles'>,
  onLine?: () => void,
): JournalScene {
  const { heard, listener } = listening(onLine);
  const time = fakeTime(start);
  const { spawn, started } = fakeJournalctl();
  const source = createJournal({ saved: undefined, since: start, listener, timing: time, spawn, ...options });
  source.start();
  return {
    source,
    heard,
    time,
    started,
    get current() {
      return started.at(-1) as FakeJournalctl;
    },
    print: (...records) => started.at(-1)?.print(records.map((record) => printed(record)).join('')),
  };
}
