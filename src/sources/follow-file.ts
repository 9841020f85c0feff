import type { Millis } from '../model.ts';
import { reasonOf } from '../system-error.ts';
import type { ToInstant } from './clock.ts';
import { enterLog } from './enter-log.ts';
import { type Place, startOfFile } from './file-position.ts';
import { createFileReader, type FileReader } from './file-reader.ts';
import { createLateWrites } from './late-writes.ts';
import { createLiveLineReader } from './live-line.ts';
import { closeLog, type Obstacle, type OpenLog } from './open-log.ts';
import { type Schedule, schedule as inTime } from './schedule.ts';
import type { Notice, Position, Source, SourceListener } from './source.ts';
import { createSuccession } from './succession.ts';

export interface FollowFileOptions {
  path: string;
  /** As in `createScanner`. */
  needles: readonly string[];
  /** `position` of an earlier source of this path. */
  saved: Position | undefined;
  /** Where to begin when there is no such position. A file that comes into being later is read from its start. */
  from: 'start' | 'end';
  listener: SourceListener;
  /** How stamps without a zone are read. Default: UTC. */
  zone?: ToInstant;
  now?: () => Millis;
  pollInterval?: Millis;
  schedule?: Schedule;
}

/** Read at a time; other work has its turn in between. */
const blockSize = 256 * 1024;
/** Between looks at what stands at the path, and between attempts to read what could not be read. */
const lookInterval: Millis = 1000;
/** Between attempts to open what could not be opened. */
const patience: Millis = 10_000;

/**
 * Follows one log file over renaming with a new file in its place, truncation, deletion and restarts. Lines are numbered from
 * where this source began to read the file.
 *
 * Limits: a file that comes and goes between two looks is not seen. After a restart, what had not been read of a file that
 * was renamed meanwhile is not looked for; a notice says so. What is written to a renamed file after its successor has begun,
 * following a second of silence, is not read; how much it is is told as lost.
 */
export function createFollowFile(options: FollowFileOptions): Source {
  const { path, needles, saved, listener, zone, now = Date.now, pollInterval = 100, schedule = inTime } = options;
  const block = Buffer.allocUnsafeSlow(blockSize);
  const readLine = createLiveLineReader({ source: path, zone, now });
  const succession = createSuccession({
    path,
    onNotice: notify,
    onMissed: (bytes) => lost(bytes, 'was replaced more often than it could be read'),
  });
  const lateWrites = createLateWrites((bytes) => lost(bytes, 'was written to after its successor had begun'));

  let stopped = false;
  let state: Source['state'] = 'waiting';
  let reader: FileReader | undefined;
  let position = saved;
  /** Of readers before this one. */
  let earlier = { lines: 0, bytes: 0, tooLong: 0 };
  let { from } = options;
  /** Why nothing can be read, as it was told. */
  let told: string | undefined;
  let cancelNext: (() => void) | undefined;
  let cancelLook: (() => void) | undefined;

  return {
    name: path,
    get state() {
      return stopped ? 'stopped' : state;
    },
    get position() {
      return reader?.position ?? position;
    },
    get counts() {
      return total();
    },
    start: open,
    stop() {
      stopped = true;
      cancelNext?.();
      cancelLook?.();
      succession.close();
      lateWrites.close();
      if (reader === undefined) return;
      position = reader.position;
      earlier = total();
      closeLog(reader.log);
      reader = undefined;
    },
  };

  function open(): void {
    const entry = enterLog(path, saved, from);
    if ('kind' in entry) return wait(entry);
    reader = readerOf(entry.log, entry.place, entry.head);
    cancelNext = schedule(poll, 0);
    cancelLook = schedule(look, lookInterval);
    if (entry.replaced)
      notify({
        level: 'warn',
        key: 'replaced',
        text: `${path} is another file than before this start: it is read from its beginning, and what had not been read of the one before is lost`,
      });
    well();
  }

  function wait({ kind, text }: Obstacle): void {
    // What comes into being from here on is news from its first line.
    if (kind !== 'unreadable') from = 'start';
    cancelNext = schedule(open, kind === 'missing' ? lookInterval : patience);
    if (kind === 'missing') unwell('waiting', { level: 'warn', key: kind, text });
    else unwell('failed', { level: 'error', key: kind, text });
  }

  function poll(): void {
    if (reader === undefined) return;
    const step = reader.step();
    if (stopped) return;
    if (typeof step === 'object') return fail(reader, step.error);
    if (step === 'overwritten') return startOver(reader);
    cancelNext = schedule(poll, step === 'more' ? 0 : pollInterval);
    well();
  }

  function fail({ offset }: FileReader, error: unknown): void {
    cancelNext = schedule(poll, lookInterval);
    const text = `${path} cannot be read past byte ${offset}: ${reasonOf(error)}. It is tried again every second`;
    unwell('failed', { level: 'error', key: 'read', text });
  }

  function startOver(current: FileReader): void {
    current.end();
    if (stopped) return;
    goOn(current.log);
    lost(
      current.unread || undefined,
      current.unread > 0
        ? `was truncated: ${current.unread} bytes or more had not been read`
        : 'was truncated: what was written just before may not have been read',
    );
  }

  function look(): void {
    if (reader === undefined) return;
    cancelLook = schedule(look, lookInterval);
    lateWrites.look();
    const successor = succession.look(reader);
    if (successor === undefined) return;
    reader.end();
    if (stopped) return closeLog(successor);
    lateWrites.watch(reader.log, reader.offset);
    cancelNext?.();
    goOn(successor);
  }

  function goOn(log: OpenLog): void {
    earlier = total();
    reader = readerOf(log, startOfFile);
    cancelNext = schedule(poll, 0);
  }

  function readerOf(log: OpenLog, place: Place, head?: Buffer): FileReader {
    return createFileReader({
      log,
      place,
      ...(head && { head }),
      block,
      needles,
      onLine(text, number, cut) {
        if (stopped) return;
        const { line, origin } = readLine(text, number, cut);
        listener.onLine(line, origin);
      },
      onTooLong(number) {
        if (total().tooLong > 1) return;
        const text = `${path}: line ${number} is longer than 64 KiB and was skipped; further ones are only counted`;
        notify({ level: 'warn', key: 'too-long', text });
      },
    });
  }

  function total(): Source['counts'] {
    const { lines, bytes, tooLong } = reader?.counts ?? { lines: 0, bytes: 0, tooLong: 0 };
    return { lines: earlier.lines + lines, bytes: earlier.bytes + bytes, tooLong: earlier.tooLong + tooLong };
  }

  function well(): void {
    state = 'reading';
    if (told === undefined) return;
    told = undefined;
    notify({ level: 'info', key: 'well', text: `${path} is read now` });
  }

  function unwell(how: 'waiting' | 'failed', notice: Notice): void {
    state = how;
    if (told === notice.text) return;
    told = notice.text;
    notify(notice);
  }

  function lost(count: number | undefined, what: string): void {
    if (!stopped) listener.onLost({ count, unit: 'bytes', time: now(), reason: `${path} ${what}` });
  }

  function notify(notice: Notice): void {
    if (!stopped) listener.onNotice(notice);
  }
}
