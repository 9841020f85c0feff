import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { hasKlogHeader, klogJsonTime } from '../../base/log-formats/go-loggers.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import type { JsonValue, LineOrigin } from './source.ts';

export interface SharedLinesOptions {
  /** The source whose kernel lines are used. */
  kernelSource: string | undefined;
  programSources: readonly string[];
  saved: JsonValue | undefined;
  now: () => Millis;
}

/** The most records that are remembered. A few are enough, because the sources show a record at nearly the same time. */
const maxRecords = 1024;

/** After a silence of this length, another source may take over ulogd's lines. */
const ulogdSilence: Millis = 60_000;

export interface SharedLines {
  /** Whether the line counts: false if another source has shown it. */
  isFirstSeen: (source: string, line: LogLine, origin: LineOrigin) => boolean;
  readonly dedupe: LineDedupe;
}

/** The state of lines that several sources have. */
export interface LineDedupe {
  /** How many lines another source had shown before, since the start. */
  readonly repeats: number;
  state: () => JsonValue;
}

/**
 * Lets each line through once if several sources have it: lines of the kernel and of ulogd from one source, and klog's records from the
 * first source that shows them. Other lines of programs always pass.
 */
export function createSharedLines({ kernelSource, programSources, saved, now }: SharedLinesOptions): SharedLines {
  const programs = restore(saved, programSources);
  /** `seen`: when the source's last line was read; `last`: the newest time of its lines. */
  let ulogd: { from: string; seen: Millis; last: Millis } | undefined;
  let repeats = 0;

  return {
    isFirstSeen: (source: string, line: LogLine, origin: LineOrigin): boolean => {
      const isFirst = isFirstOf(source, line, origin);
      if (!isFirst) repeats++;
      return isFirst;
    },
    dedupe: {
      get repeats(): number {
        return repeats;
      },
      state: (): JsonValue => ({ programs: [...programs] }),
    },
  };

  function isFirstOf(source: string, { text, program, time }: LogLine, origin: LineOrigin): boolean {
    if (origin === 'program' || origin === 'container')
      return programSources.length < 2 || !isKlog(text) || isFirstRecord(source, hashOf(text));
    if (origin !== 'kernel') return true;
    // Only one source has these lines.
    if (program === 'bpf' || program === 'kernel-drops' || program === 'calico-flows') return true;
    // ulogd gets these packets by NFLOG, not from the kernel's log, so the kernel's source may not have them.
    if (program === 'ulogd' || program === 'ulogd2') return isOfUlogdSource(source, Math.min(time, now()));
    return source === kernelSource;
  }

  /**
   * Returns whether lines of this source count. The first source with a line is used for all, until it is silent while another has newer
   * lines: if it were used forever, one forged line could hide a whole log. Lines that are not newer may be the same ones, read later.
   */
  function isOfUlogdSource(source: string, time: Millis): boolean {
    const present = now();
    const { from, seen, last } = ulogd ?? { from: source, seen: present, last: time };
    const isOver = present - seen > ulogdSilence && time - last > ulogdSilence;
    if (from !== source && !isOver) return false;
    ulogd = { from: source, seen: present, last: Math.max(last, time) };
    return true;
  }

  /** Compares only texts, because sources may write stamps in different zones. */
  function isFirstRecord(source: string, record: string): boolean {
    const shownBy = programs.get(record);
    if (shownBy !== undefined && !shownBy.includes(source)) {
      shownBy.push(source);
      return false;
    }
    programs.delete(record);
    programs.set(record, [source]);
    for (const oldest of programs.keys()) {
      if (programs.size <= maxRecords) break;
      programs.delete(oldest);
    }
    return true;
  }
}

/** Each record, and the sources that have shown it. */
const shape = z.object({ programs: z.array(z.tuple([z.string(), z.array(z.string())])) });

function restore(saved: JsonValue | undefined, sources: readonly string[]): Map<string, string[]> {
  return new Map(sources.length > 1 ? shape.safeParse(saved).data?.programs : []);
}

/** Returns whether klog wrote the text. klog stamps to the microsecond, so none of its records occurs twice. Texts of other loggers may. */
function isKlog(text: string): boolean {
  return hasKlogHeader(text) || klogJsonTime(text) !== undefined;
}

/** Hashes the visible ASCII characters, because sources differ in all other bytes. */
function hashOf(text: string): string {
  return hash('sha1', text.replaceAll(/[^\x21-\x7e]+/g, ''), 'base64');
}
