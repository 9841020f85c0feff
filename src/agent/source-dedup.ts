import { hasKlogHeader, klogJsonTime } from '../log-formats/klog.ts';
import { createDedup, type Dedup } from '../sources/dedup.ts';
import type { Json } from '../sources/source.ts';

/** What comes through several sources, taken for one: lines of the kernel, and records of programs. */
export interface SourceDedup {
  kernel: Dedup['isFirst'];
  /** By text alone: the sources may stamp in different zones. */
  program: (source: string, text: string) => boolean;
  /** Of both: what the metrics show, and what belongs to the positions. */
  once: Pick<Dedup, 'counts' | 'state'>;
}

export interface SourceDedupOptions {
  kernelSources: readonly string[];
  programSources: readonly string[];
  /** `once.state()` of an earlier one. */
  saved: Json | undefined;
}

/** Most of what one source has of kube-proxy the other has not, or has at once. */
const maxProgramRecords = 1024;

export function createSourceDedup({ kernelSources, programSources, saved }: SourceDedupOptions): SourceDedup {
  const kernel = createDedup({ sources: kernelSources, saved });
  const earlier = (saved as { readonly [key: string]: Json } | undefined)?.['programs'];
  const programs = createDedup({ sources: programSources, saved: earlier, max: maxProgramRecords });
  return {
    kernel: kernel.isFirst,
    program:
      programSources.length < 2 ? () => true : (source, text) => !isKlog(text) || programs.isFirst(source, text, 0),
    once: {
      counts: {
        get repeats() {
          return kernel.counts.repeats + programs.counts.repeats;
        },
        // What one program's log never had is not missed.
        get forgotten() {
          return kernel.counts.forgotten;
        },
      },
      state: () => ({ ...(kernel.state() as { readonly [key: string]: Json }), programs: programs.state() }),
    },
  };
}

/** klog stamps to the microsecond: such a record is logged once. Others have texts that come again. */
function isKlog(text: string): boolean {
  return hasKlogHeader(text) || klogJsonTime(text) !== undefined;
}
