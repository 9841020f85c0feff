import type { Millis } from '../../model/log-line.ts';
import type { RotatedLog, RotatedLogOptions } from './followed-log.ts';
import type { Obstacle } from './open-log.ts';

/** Publishes the conditions of one log, each once as long as it lasts. */
export interface Report {
  state: RotatedLog['state'];
  readonly isStopped: boolean;
  well: () => void;
  /** Nothing can be read (yet): there is nothing, or it must not be read. */
  waiting: (obstacle: Obstacle) => void;
  failed: (what: string) => void;
  /** A line was too long; `count`: so many were. */
  tooLong: (line: number, count: number) => void;
  /** It is not the file that an earlier run had read. */
  replaced: () => void;
  /** The file at the path cannot be read, at the second look in a row. */
  obstructed: (obstacle: Obstacle) => void;
  /** The file at the path can be read, again or still. */
  unobstructed: () => void;
  lost: (bytes: number | undefined, what: string) => void;
  /** A file was cut off, but not emptied; `unread`: bytes, at least, that had not been read. */
  cut: (unread: number) => void;
}

export function createReport({ path, listener }: RotatedLogOptions, wall: () => Millis): Report {
  let published: string | undefined;
  let isObstructed = false;

  const report: Report = {
    state: 'waiting',
    get isStopped() {
      return report.state === 'stopped';
    },
    well() {
      report.state = 'reading';
      if (published === undefined) return;
      published = undefined;
      notify('info', 'well', `${path} is read now`);
    },
    waiting: ({ kind, text }) => unwell(kind === 'missing' ? 'waiting' : 'failed', kind, text),
    failed: (what) => unwell('failed', 'read', `${path} cannot be read ${what}`),
    tooLong(line, count) {
      if (count > 1) return;
      notify(
        'warn',
        'too-long',
        `${path}: line ${line} is longer than 64 KiB and was skipped; further ones are only counted`,
      );
    },
    replaced() {
      notify(
        'warn',
        'replaced',
        `${path} is another file than before this start: it is read from its beginning, and what had not been read of the one before is lost`,
      );
    },
    obstructed({ kind, text }) {
      isObstructed = true;
      if (kind !== 'missing') return notify('error', kind, `${text}. The file that was there before it is still read`);
      notify(
        'warn',
        'deleted',
        `${path} was deleted or renamed, and there is no new one; what is written to the old one is still read`,
      );
    },
    unobstructed() {
      if (isObstructed) notify('info', 'well', `${path} is read now`);
      isObstructed = false;
    },
    lost(bytes, what) {
      if (!report.isStopped) listener.lost({ count: bytes, unit: 'bytes', time: wall(), reason: `${path} ${what}` });
    },
    cut(unread) {
      const what = unread > 0 ? `${unread} bytes or more had not been read` : 'what was written since may be missing';
      report.lost(unread > 0 ? unread : undefined, `was cut off, and is read on from its end: ${what}`);
    },
  };
  return report;

  function unwell(how: 'waiting' | 'failed', key: string, text: string): void {
    report.state = how;
    if (published === text) return;
    published = text;
    notify(how === 'waiting' ? 'warn' : 'error', key, text);
  }

  function notify(level: 'info' | 'warn' | 'error', key: string, text: string): void {
    if (!report.isStopped) listener.notice({ level, key, text });
  }
}
