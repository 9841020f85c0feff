import { hasKlogHeader, klogJsonTime } from '../log-formats/go-loggers.ts';
import type { LogLine } from '../model/log-line.ts';
import type { Json, LineOrigin } from '../sources/sources.ts';

export interface SharedLinesOptions {
  /** The one source of which the kernel's lines are taken. */
  kernelGiver: string | undefined;
  /** Sources that may have the same records of programs. */
  programSources: readonly string[];
  /** `once.state()` of an earlier run. */
  saved: Json | undefined;
}

/** Most of what one source has of kube-proxy the other has not, or has at once. */
const maxRecords = 1024;

export type SharedLines = ReturnType<typeof createSharedLines>;

/** Takes each line once that several sources have: of the kernel and of ulogd from one source, of programs from the first that shows it. */
export function createSharedLines({ kernelGiver, programSources, saved }: SharedLinesOptions) {
  const programs = restore(saved, programSources);
  let ulogdGiver: string | undefined;
  let repeats = 0;

  return {
    isNews: (source: string, line: LogLine, origin: LineOrigin): boolean => {
      const isFirst = isFirstOf(source, line, origin);
      if (!isFirst) repeats++;
      return isFirst;
    },
    /** The count for the metrics, and the state that is saved with the positions. */
    once: {
      counts: {
        get repeats(): number {
          return repeats;
        },
      },
      state: (): Json => ({ programs: [...programs] }),
    },
  };

  function isFirstOf(source: string, { text, program }: LogLine, origin: LineOrigin): boolean {
    if (origin === 'program' || origin === 'container')
      return programSources.length < 2 || !isKlog(text) || isFirstRecord(source, hashOf(text));
    if (origin !== 'kernel') return true;
    // No other source has what BPF programs print, and the flows of Calico.
    if (program === 'bpf' || program === 'calico-flows') return true;
    // The kernel hands these packets to ulogd alone: they are in no source of the kernel's own lines.
    if (program === 'ulogd' || program === 'ulogd2') return (ulogdGiver ??= source) === source;
    return source === kernelGiver;
  }

  /** Compares texts alone, because the sources may stamp in different zones. */
  function isFirstRecord(source: string, hash: number): boolean {
    const shownBy = programs.get(hash);
    if (shownBy !== undefined && !shownBy.includes(source)) {
      shownBy.push(source);
      return false;
    }
    programs.delete(hash);
    programs.set(hash, [source]);
    for (const oldest of programs.keys()) {
      if (programs.size <= maxRecords) break;
      programs.delete(oldest);
    }
    return true;
  }
}

function restore(saved: Json | undefined, sources: readonly string[]): Map<number, string[]> {
  const { programs } = (saved ?? {}) as Readonly<Record<string, Json>>;
  const entries = sources.length > 1 && Array.isArray(programs) ? (programs as Json[]) : [];
  return new Map(
    entries.flatMap((entry): [number, string[]][] => {
      const [hash, shownBy] = Array.isArray(entry) ? (entry as Json[]) : [];
      if (typeof hash !== 'number' || !Array.isArray(shownBy)) return [];
      return [[hash, shownBy.filter((source) => typeof source === 'string')]];
    }),
  );
}

/** klog stamps to the microsecond: such a record is logged once. Others have texts that come again. */
function isKlog(text: string): boolean {
  return hasKlogHeader(text) || klogJsonTime(text) !== undefined;
}

/** 53 bits of cyrb53 (public domain) over visible ASCII: sources differ in what becomes of all other bytes. */
function hashOf(text: string): number {
  let low = 0xdeadbeef;
  let high = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f) continue;
    low = Math.imul(low ^ code, 2_654_435_761);
    high = Math.imul(high ^ code, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & high) + (low >>> 0);
}
