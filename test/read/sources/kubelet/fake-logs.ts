import type { CreateLog } from '../../../../src/read/sources/kubelet/open-logs.ts';
import type { RotatedLog, RotatedLogOptions } from '../../../../src/read/sources/tail/rotated-log.ts';

export interface FakeLog {
  options: RotatedLogOptions;
  state: RotatedLog['state'];
  atEnd: boolean;
  /** One physical line arrives. */
  line: (raw: string) => void;
}

/** Logs with the test's content, by path; includes all that were ever made. */
export function fakeLogs(): {
  createLog: CreateLog;
  made: FakeLog[];
  at: (path: string) => FakeLog;
  running: () => string[];
} {
  const made: FakeLog[] = [];
  return {
    made,
    createLog(options) {
      let offset = Number(options.saved?.['offset'] ?? 0);
      const counts = { lines: 0, bytes: 0, tooLong: 0 };
      const log: FakeLog = {
        options,
        state: 'waiting',
        atEnd: true,
        line(raw) {
          if (log.state === 'stopped') return;
          offset += raw.length + 1;
          counts.lines++;
          counts.bytes += raw.length + 1;
          options.lines.take(raw, counts.lines, false);
        },
      };
      made.push(log);
      return {
        name: options.path,
        get state() {
          return log.state;
        },
        get position() {
          if (log.state === 'waiting') return options.saved;
          return { offset };
        },
        counts,
        get atEnd() {
          return log.atEnd;
        },
        start() {
          log.state = 'reading';
        },
        stop() {
          log.state = 'stopped';
        },
      };
    },
    at(path) {
      const log = made.findLast(({ options }) => options.path.endsWith(path));
      if (log === undefined) throw new Error(`${path} was never read`);
      return log;
    },
    running: () => made.filter(({ state }) => state !== 'stopped').map(({ options }) => options.path),
  };
}
