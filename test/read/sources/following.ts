import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { createFollowFile, type FollowFileOptions } from '../../../src/read/sources/tail/follow-file.ts';
import type { Position, Source } from '../../../src/read/sources/source.ts';
import { type FakeTime, fakeTime } from './fake-time.ts';
import { type Heard, listening } from './heard.ts';
import { openAtOnce } from './tail/at-once.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const noon = Date.UTC(2026, 10, 21, 12);

export interface Following extends Heard {
  source: Source;
  time: FakeTime;
  /** Texts of the lines so far. */
  texts: () => string[];
}

type Options = Partial<FollowFileOptions> & {
  /** Called after each line. */
  onLine?: (source: Source) => void;
};

function prepare(file: string, { onLine, ...options }: Options = {}): Following {
  const time = fakeTime(noon);
  const { heard, listener } = listening(() => onLine?.(source));
  const source: Source = createFollowFile({
    path: file,
    needles: ['IN='],
    saved: undefined,
    from: 'start',
    listener,
    timing: time,
    openContent: openAtOnce,
    ...options,
  });
  onTestFinished(() => source.stop());
  return { ...heard, source, time, texts: () => heard.lines.map(({ text }) => text) };
}

/** Tools for a test file that follows files. Each source is stopped after its test. */
export function followingTools(): {
  /** A path at which nothing exists yet. */
  unused: () => string;
  /** Writes a file with this content. */
  written: (content: string) => string;
  /**
   * A source that has not been started, in a time of its own. It reads from the start of the file unless asked
   * otherwise.
   */
  prepare: (file: string, options?: Options) => Following;
  /** A started source that has read the present content. */
  follow: (file: string, options?: Options) => Following;
} {
  const path = temporaryFolder();
  let files = 0;
  const unused = (): string => path(`${++files}.log`);

  return {
    unused,
    written(content) {
      const file = unused();
      writeFileSync(file, content);
      return file;
    },
    prepare,
    follow(file, options) {
      const following = prepare(file, options);
      following.source.start();
      following.time.advance(0);
      return following;
    },
  };
}

/** A position as it comes back from disk. */
export function kept(source: Source): Position {
  return JSON.parse(JSON.stringify(source.position)) as Position;
}

/** The descriptors of this process for the file of that name, even if the file is deleted. */
export function descriptorsOf(file: string): number[] {
  return readdirSync('/proc/self/fd')
    .filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).replace(/ \(deleted\)$/, '') === file;
      } catch {
        // The descriptor that read the folder is closed by now.
        return false;
      }
    })
    .map(Number);
}
