import type { LogLine, Millis } from '../../model/log-line.ts';
import { fatalNeedles } from '../records/record-kinds.ts';
import { createNeedleSearch } from '../framing/needles.ts';
import { type Position, type Source, type SourceListener, systemTiming, type Timing } from '../source.ts';
import { isOwnDoing, noticeOf } from './ending.ts';
import { createErrorOutput } from './error-output.ts';
import { type Ending, journalctlArguments, runJournalctl, type Spawn, spawnJournalctl } from './journalctl.ts';
import { createLineBlocks } from './line-blocks.ts';
import { cursorOf, isSameRecord, readRecord } from './record.ts';
import { createUnits, driverMark, unitMark } from './units.ts';

export interface JournalOptions {
  /** The host's journal, where it is mounted. Default: the journal of this machine, as journalctl finds it. */
  directory?: string;
  /** `position` of an earlier source. */
  saved: Position | undefined;
  /** Without such a position, older records are passed over. */
  since: Millis;
  listener: SourceListener;
  /** As in `createScanner`, of the kernel's records; those whose message is an array of bytes are handed over in any case. */
  needles: readonly string[];
  /** Units whose records are read, too, as far as they have one of these needles: `k3s.service`. Default: none. */
  units?: { names: readonly string[]; needles: readonly string[] };
  timing?: Timing;
  spawn?: Spawn;
}

/** Longest record taken, in bytes. One of the kernel has 8 KiB at most, but as an array of bytes takes several times that. */
const longestRecord = 1024 * 1024;
/** Before journalctl is started again: at first, doubling, and at most. */
const shortestWait: Millis = 1000;
const longestWait: Millis = 60_000;
/** What has run for so long is well, though there was nothing to read. */
const settled: Millis = 5000;

const newline = 10;
/** No needle can be seen in a message that is no UTF-8. */
const byteArrayMessage = '"MESSAGE":[';

/**
 * Reads the kernel's records in systemd's journal, those of earlier boots too, what journald says of records it has
 * lost, and records of units. Runs journalctl. Lines are numbered from where this source began.
 *
 * Limit: if the clock is set back and the journal is emptied before a restart, records older than the last one read are
 * not seen.
 */
export function createJournal(options: JournalOptions): Source {
  const { directory, saved, since, listener, timing = systemTiming, spawn = spawnJournalctl } = options;
  const { wall, schedule } = timing;
  const names = options.units?.names ?? [];
  // Words of programs are sought in records of units alone: in all of them it would cost the kernel's a tenth of their time.
  const search = createNeedleSearch([
    ...options.needles,
    byteArrayMessage,
    ...(names.length === 0 ? [] : [unitMark, driverMark]),
  ]);
  const wordSearch = createNeedleSearch([...(options.units?.needles ?? []), ...fatalNeedles, byteArrayMessage]);
  const units = createUnits({ names, saved: saved?.['units'], onLine: handOfUnit, timing });
  const blocks = createLineBlocks({ longest: longestRecord, onLines: takeLines, onTooLong: tooLong });
  const errors = createErrorOutput();
  const counts = { lines: 0, bytes: 0, tooLong: 0 };

  let state: Source['state'] = 'waiting';
  /** Of the last record that was taken. */
  let cursor = typeof saved?.['cursor'] === 'string' ? saved['cursor'] : undefined;
  const isFirstRun = cursor === undefined;
  /** The cursor that journalctl was started with, until its first record has come: that one was taken already. */
  let sought: string | undefined;
  let wait = shortestWait;
  let isWell = false;
  /** Why it cannot be read, as it was told. */
  let told: string | undefined;
  let kill: (() => void) | undefined;
  let cancelRun: (() => void) | undefined;
  let cancelSettling: (() => void) | undefined;

  return {
    name: 'journal',
    get state() {
      return state;
    },
    get position() {
      if (cursor === undefined) return undefined;
      const { position } = units;
      return position === undefined ? { cursor } : { cursor, units: position };
    },
    counts,
    start() {
      units.start();
      run();
    },
    stop() {
      state = 'stopped';
      units.stop();
      cancelRun?.();
      cancelSettling?.();
      kill?.();
    },
  };

  function run(): void {
    sought = cursor;
    isWell = false;
    if (told === undefined) state = 'reading';
    const args = journalctlArguments(directory, cursor === undefined ? { since } : { cursor }, names);
    cancelSettling = schedule(well, settled);
    kill = runJournalctl(spawn, args, {
      onOutput: (chunk) => blocks.write(chunk),
      onErrorOutput(chunk) {
        errors.add(chunk);
        if (isWell) complain();
      },
      onEnd: ended,
    });
  }

  function takeLines(block: Buffer): void {
    if (isStopped()) return;
    let start = sought === undefined ? 0 : takeFirst(block, sought);
    search.reset();
    let found = search.next(block, start, block.length);
    let last: string | undefined;
    for (let end = start; start < block.length && !isStopped(); start = end) {
      end = block.indexOf(newline, start) + 1;
      counts.lines++;
      counts.bytes += end - start;
      const matters = found >= 0 && found < end;
      if (matters) found = search.next(block, end, block.length);
      if (!matters && end < block.length) continue;
      last = block.toString('latin1', start, end - 1);
      cursor = cursorOf(last) ?? cursor;
      const [from, to] = [start, end];
      if (!units.take(last, counts.lines, () => hasWords(block, from, to)) && matters) hand(last);
    }
    if (last !== undefined && !isStopped() && !isWell) well();
  }

  function hasWords(block: Buffer, start: number, end: number): boolean {
    wordSearch.reset();
    return wordSearch.next(block, start, end) >= 0;
  }

  /** The one that was taken before the start, if the journal has it still. Returns where the next one begins. */
  function takeFirst(block: Buffer, expected: string): number {
    const end = block.indexOf(newline) + 1;
    const first = cursorOf(block.toString('latin1', 0, end - 1));
    if (first === undefined) return 0;
    sought = undefined;
    if (isSameRecord(first, expected)) return end;
    lost('The journal no longer has the record that was read last: what came after it may be lost');
    return 0;
  }

  function hand(record: string): void {
    const read = readRecord(record, counts.lines, wall());
    if (read === undefined) {
      const text = `journalctl printed what is no record of the journal: ${JSON.stringify(record.slice(0, 80))}`;
      return listener.onNotice({ level: 'warn', key: 'unreadable', text });
    }
    // journald dates what it takes in late, as when it starts, by its own clock.
    if (isFirstRun && read.line.time < since) return;
    listener.onLine(read.line, read.origin);
  }

  function handOfUnit(line: LogLine): void {
    if (!isStopped() && !(isFirstRun && line.time < since)) listener.onLine(line, 'program');
  }

  function tooLong(bytes: number): void {
    counts.lines++;
    counts.bytes += bytes;
    counts.tooLong++;
    units.forget();
    if (counts.tooLong > 1 || isStopped()) return;
    const text = 'A record of the journal is longer than 1 MiB and was skipped; further ones are only counted';
    listener.onNotice({ level: 'warn', key: 'too-long', text });
  }

  function ended(ending: Ending): void {
    cancelSettling?.();
    // It comes again, whole, after the cursor.
    blocks.reset();
    const said = errors.takeAll();
    cancelRun = schedule(run, wait);
    wait = Math.min(2 * wait, longestWait);
    if (sought !== undefined && said.some((line) => line.includes('Failed to seek to cursor: Invalid argument'))) {
      cursor = undefined;
      return lost('The journal does not know the place where it was read last: what came after it may be lost');
    }
    state = isOwnDoing(ending) && !isWell ? 'failed' : 'waiting';
    const notice = noticeOf(ending, said.at(-1));
    if (told === notice.text) return;
    told = notice.text;
    listener.onNotice(notice);
  }

  function well(): void {
    cancelSettling?.();
    isWell = true;
    wait = shortestWait;
    state = 'reading';
    if (told !== undefined) {
      told = undefined;
      listener.onNotice({ level: 'info', key: 'well', text: 'The journal is read now' });
    }
    complain();
  }

  /** It goes on without the files of the journal that it cannot read. */
  function complain(): void {
    for (const line of errors.takeNew()) {
      if (isStopped()) return;
      listener.onNotice({ level: 'warn', key: 'complaint', text: `journalctl says: ${line}` });
    }
  }

  function lost(reason: string): void {
    units.forget();
    listener.onLost({ count: undefined, unit: 'records', time: wall(), reason });
  }

  function isStopped(): boolean {
    return state === 'stopped';
  }
}
