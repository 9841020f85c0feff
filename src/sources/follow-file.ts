import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import type { LogLine, Millis } from '../model.ts';
import { reasonOf } from '../system-error.ts';
import { type Clock, createClock, type ToInstant } from './clock.ts';
import { readEnvelope } from './envelope.ts';
import { createScanner, type Scanner } from './scanner.ts';
import type { Position, Source, SourceListener } from './source.ts';

export interface FollowFileOptions {
  path: string;
  /** See `createScanner`: lines without any of these are only counted. */
  needles: readonly string[];
  saved: Position | undefined;
  /** Where to begin in a file that is there at the start and has no saved position. One that appears later is read whole. */
  from: 'start' | 'end';
  listener: SourceListener;
  /** How stamps without a zone are read. */
  zone?: ToInstant;
  now?: () => Millis;
  /** How long nothing new is waited for before looking again. */
  pollInterval?: Millis;
}

/** Where reading goes on. `head` is a hash of the first `headLength` bytes: numbers of inodes are used again at once. */
interface FilePosition extends Record<string, string | number | boolean> {
  device: number;
  inode: number;
  /** After the last whole line that was taken. */
  offset: number;
  headLength: number;
  head: string;
  /** Within a line that is too long. */
  skipping: boolean;
}

const blockSize = 256 * 1024;
const headSize = 1024;
/** How often the path is looked at: is it still our file? */
const lookInterval: Millis = 1000;
/** How often it is tried to open what could not be opened. */
const retryInterval: Millis = 10_000;
/** Stamps without a year are read against the present. */
const clockLifetime: Millis = 600_000;

/**
 * Follows one log file by its descriptor, so that a file that was renamed is read to its end before its successor is begun. Notices
 * truncation. A generation that comes and goes between two looks is not seen.
 */
export function createFollowFile(options: FollowFileOptions): Source {
  const { path, listener, now = Date.now, pollInterval = 100 } = options;
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  const block = Buffer.allocUnsafeSlow(blockSize);
  let state: Source['state'] = 'waiting';
  let timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  let file: OpenFile | undefined;
  let saved = options.saved as FilePosition | undefined;
  /** What is there at the very start may be skipped; what comes later may not. */
  let atStart = true;
  let looked: Millis = -Infinity;
  /** The path is another file's, and ours had nothing new at that many looks in a row. */
  let idleLooks = 0;

  return {
    name: path,
    get state() {
      return state;
    },
    get position() {
      return file === undefined ? saved : positionOf(file);
    },
    get counts() {
      return counts;
    },
    start: () => turn(),
    stop() {
      clearTimeout(timer as NodeJS.Timeout);
      clearImmediate(timer as NodeJS.Immediate);
      saved = file === undefined ? saved : positionOf(file);
      close();
      state = 'stopped';
    },
  };

  function turn(): void {
    const wait = file === undefined ? tryToOpen() : read(file);
    atStart = false;
    // Nothing may be waited for while there is more to read, but other work must get its turn.
    timer = wait === 0 ? setImmediate(turn) : setTimeout(turn, wait);
  }

  /** Returns how long to wait before the next turn. */
  function tryToOpen(): Millis {
    let fd: number | undefined;
    try {
      // Without O_NONBLOCK a pipe would wait for its writer.
      fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = fstatSync(fd);
      if (!stats.isFile()) throw new Error('it is no regular file');
      file = begin(fd, stats);
      fd = undefined;
      looked = now();
      idleLooks = 0;
      state = 'reading';
      return 0;
    } catch (error) {
      const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
      if (missing && state !== 'waiting') state = 'waiting';
      if (missing) notice('info', 'missing', `${path} is not there (yet): waiting for it`);
      else fail(error);
      return missing ? lookInterval : retryInterval;
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  function begin(fd: number, stats: Stats): OpenFile {
    const common = { fd, device: stats.dev, inode: stats.ino };
    const before = saved;
    saved = undefined;
    if (before !== undefined) {
      const isSame =
        before.device === stats.dev &&
        before.inode === stats.ino &&
        before.offset <= stats.size &&
        before.head === hashOfHead(fd, before.headLength);
      if (isSame) return { ...common, offset: before.offset, head: before, scanner: scannerOf(before.skipping) };
      notice('warn', 'another', `${path} is not the file it was when it was last read: it is read from its start`);
    }
    const offset = before === undefined && atStart && options.from === 'end' ? startOfLastLine(fd, stats.size) : 0;
    return { ...common, offset, head: undefined, scanner: scannerOf(false) };
  }

  /** Not within a line: its rest would be taken for one. */
  function startOfLastLine(fd: number, size: number): number {
    const from = Math.max(0, size - blockSize);
    const end = block.subarray(0, readSync(fd, block, 0, size - from, from)).lastIndexOf(0x0a);
    return from + end + 1;
  }

  function read(open: OpenFile): Millis {
    try {
      const length = readSync(open.fd, block, 0, blockSize, open.offset);
      if (length > 0) {
        open.offset += length;
        counts.bytes += length;
        idleLooks = 0;
        open.scanner.write(block.subarray(0, length));
        return 0;
      }
      if (now() - looked >= lookInterval || now() < looked) look(open);
      return pollInterval;
    } catch (error) {
      fail(error);
      saved = positionOf(open);
      close();
      return retryInterval;
    }
  }

  /** Everything has been read: is it still the file that the path names, and has it not begun anew? */
  function look(open: OpenFile): void {
    looked = now();
    const { size } = fstatSync(open.fd);
    if (size < open.offset) return beginAnew(open, `${path} was truncated`);
    if (open.head !== undefined && hashOfHead(open.fd, open.head.headLength) !== open.head.head)
      return beginAnew(open, `${path} was written anew`);
    const there = statSync(path, { throwIfNoEntry: false });
    if (there === undefined)
      return notice('info', 'gone', `${path} is gone: reading on in what it was, waiting for a new one`);
    if (there.ino === open.inode && there.dev === open.device) return;
    // Who writes to it may take a moment to notice, too.
    if (idleLooks++ === 0) return;
    open.scanner.end();
    notice('info', 'rotated', `${path} is a new file: reading that`);
    close();
    atStart = false;
  }

  function beginAnew(open: OpenFile, reason: string): void {
    // How much was written between the last look and the truncation nobody can tell.
    listener.onLost({
      count: undefined,
      unit: 'bytes',
      time: now(),
      reason: `${reason}: what was not read yet is lost`,
    });
    file = { ...open, offset: 0, head: undefined, scanner: scannerOf(false) };
  }

  function close(): void {
    if (file !== undefined) closeSync(file.fd);
    file = undefined;
  }

  function scannerOf(skipping: boolean): Scanner {
    let clock: Clock | undefined;
    let made: Millis = 0;
    let lastTime: Millis | undefined;
    const counted = { lines: 0 };
    const scanner = createScanner({
      needles: options.needles,
      skipping,
      onLine(text, number) {
        if (clock === undefined || Math.abs(now() - made) > clockLifetime) {
          made = now();
          clock = createClock({ latest: made, ...(options.zone ? { zone: options.zone } : {}) });
        }
        const envelope = readEnvelope(text, clock);
        const time = (lastTime = envelope.time ?? lastTime ?? now());
        const timeIsExact = envelope.time !== undefined && envelope.timeIsExact;
        const line: LogLine = {
          source: path,
          line: number,
          text: envelope.text,
          time,
          timeIsExact,
          host: envelope.host,
        };
        listener.onLine(line, envelope.origin);
      },
      onTooLong() {
        counts.tooLong++;
        notice('warn', 'too long', `${path} has a line of more than 64 KiB, which is skipped`);
      },
    });
    return {
      counts: scanner.counts,
      get held() {
        return scanner.held;
      },
      get skipping() {
        return scanner.skipping;
      },
      write(piece) {
        scanner.write(piece);
        countLines();
      },
      end() {
        scanner.end();
        countLines();
      },
    };

    function countLines(): void {
      counts.lines += scanner.counts.lines - counted.lines;
      counted.lines = scanner.counts.lines;
    }
  }

  function fail(error: unknown): void {
    state = 'failed';
    notice('error', 'failed', `${path} cannot be read: ${reasonOf(error)}; it is tried again every 10 s`);
  }

  function notice(level: 'info' | 'warn' | 'error', key: string, text: string): void {
    listener.onNotice({ level, key, text });
  }
}

interface OpenFile {
  fd: number;
  device: number;
  inode: number;
  /** Read up to here. */
  offset: number;
  /** What its first bytes were when they were last looked at. */
  head: { head: string; headLength: number } | undefined;
  scanner: Scanner;
}

function positionOf(file: OpenFile): FilePosition {
  const { fd, device, inode, scanner } = file;
  const offset = file.offset - scanner.held;
  if (file.head === undefined || file.head.headLength < headSize) {
    const headLength = Math.min(offset, headSize);
    file.head = { headLength, head: hashOfHead(fd, headLength) };
  }
  return { device, inode, offset, headLength: file.head.headLength, head: file.head.head, skipping: scanner.skipping };
}

function hashOfHead(fd: number, length: number): string {
  const head = Buffer.alloc(length);
  const read = readSync(fd, head, 0, length, 0);
  return createHash('sha256').update(head.subarray(0, read)).digest('hex').slice(0, 32);
}
