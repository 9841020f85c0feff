import type { Millis } from '../../../base/model/log-line.ts';
import type { Source, SourceListener } from '../source.ts';
import type { Obstacle } from './open-log.ts';

export interface TailReport {
  state: 'failed' | 'waiting' | 'reading' | 'stopped';
  readonly isStopped: boolean;
  well(): void;
  waiting: (obstacle: Obstacle) => void;
  failed: (what: string) => void;
  tooLong(line: number, count: number): void;
  replaced(): void;
  obstructed(obstacle: Obstacle): void;
  unobstructed(): void;
  lost(bytes: number | undefined, what: string, since?: Millis): void;
  /** Reports a file that was cut off, but not emptied. At least `unread` bytes of it had not been read. */
  cut(unread: number): void;
}

/** Reports problems of one log, each only once while it lasts. */
export function createReport(
  path: string,
  listener: Pick<SourceListener, 'lost' | 'notice'>,
  wall: () => Millis,
): TailReport {
  let published: string | undefined;
  let isObstructed = false;

  const report = {
    state: 'waiting' as Source['state'],
    get isStopped(): boolean {
      return report.state === 'stopped';
    },
    well(): void {
      report.state = 'reading';
      if (published === undefined) return;
      published = undefined;
      notify('info', 'well', `${path} is read now`);
    },
    waiting: ({ kind, text }: Obstacle): void => unwell(kind === 'missing' ? 'waiting' : 'failed', kind, text),
    failed: (what: string): void => unwell('failed', 'read', `${path} cannot be read${what}`),
    tooLong(line: number, count: number): void {
      if (count > 1) return;
      notify(
        'warn',
        'too-long',
        `${path}: line ${line} is longer than 64 KiB and was skipped; further ones are only counted`,
      );
    },
    replaced(): void {
      notify(
        'warn',
        'replaced',
        `${path} is another file than before this start: it is read from its beginning, and what had not been read of the one before is lost`,
      );
    },
    obstructed({ kind, text }: Obstacle): void {
      isObstructed = true;
      if (kind !== 'missing') return notify('error', kind, `${text}. The file that was there before it is still read`);
      notify(
        'warn',
        'deleted',
        `${path} was deleted or renamed, and there is no new one; what is written to the old one is still read`,
      );
    },
    unobstructed(): void {
      if (isObstructed) notify('info', 'well', `${path} is read now`);
      isObstructed = false;
    },
    lost(bytes: number | undefined, what: string, since?: Millis): void {
      if (report.isStopped) return;
      listener.lost({ count: bytes, unit: 'bytes', time: wall(), since, reason: `${path} ${what}` });
    },
    cut(unread: number): void {
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
