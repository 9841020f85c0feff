import { mkdirSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import {
  createRotatedLog,
  type RotatedLog,
  type RotatedLogOptions,
} from '../../../../src/read/sources/tail/rotated-log.ts';
import type { Notice, Position } from '../../../../src/read/sources/source.ts';
import { type FakeTime, fakeTime } from '../fake-time.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openAtOnce } from './at-once.ts';

export interface Followed {
  log: RotatedLog;
  time: FakeTime;
  lines: string[];
  losses: [number | undefined, string][];
  notices: Notice[];
  /** Stops, and returns the saved state as it is read from disk. */
  stop: () => Position | undefined;
}

type Options = Partial<RotatedLogOptions>;

/** Tools for a test file that reads rotated logs; each reader is stopped after its test. */
export function readingTools(): {
  /** The path of a log in a folder of its own, where nothing exists yet. */
  unused: () => string;
  /** Reads the present content for two seconds. */
  read: (path: string, saved?: Position, options?: Options) => Followed;
} {
  const folder = temporaryFolder();
  let folders = 0;

  return {
    unused() {
      const directory = folder(String(++folders));
      mkdirSync(directory);
      return `${directory}/kern.log`;
    },
    read(path, saved, options = {}) {
      const time = fakeTime(Date.now());
      const lines: string[] = [];
      const [losses, notices]: [Followed['losses'], Notice[]] = [[], []];
      const log = createRotatedLog({
        path,
        needles: undefined,
        saved,
        from: 'start',
        lines: { take: (text) => void lines.push(text) },
        listener: {
          lost: ({ count, reason }) => void losses.push([count, reason.replace(`${path} `, '')]),
          notice: (notice) => void notices.push(notice),
        },
        timing: time,
        openContent: openAtOnce,
        ...options,
      });
      onTestFinished(() => log.stop());
      log.start();
      time.advance(2000);
      const stop = (): Position | undefined => {
        log.stop();
        return log.position && (JSON.parse(JSON.stringify(log.position)) as Position);
      };
      return { log, time, lines, losses, notices, stop };
    },
  };
}

/** The line with this number, long enough for one line to distinguish files. */
export const line = (number: number): string => `${`line ${number}`.padEnd(79, '.')}\n`;

export function numberOf(text: string): number {
  return Number(/^line (\d+)/.exec(text)?.[1]);
}
