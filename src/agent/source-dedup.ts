import { hasKlogHeader, klogJsonTime } from '../log-formats/go-loggers.ts';
import { createDedup } from '../sources/dedup.ts';
import type { Json } from '../sources/source.ts';

export interface SourceDedupOptions {
  kernelSources: readonly string[];
  /** Of these, those that have all that the kernel logs, and nothing else of it: its ring buffer, and a journal. */
  wholeKernelSources?: readonly string[];
  programSources: readonly string[];
  /** `once.state()` of an earlier one. */
  saved: Json | undefined;
}

/** Most of what one source has of kube-proxy the other has not, or has at once. */
const maxProgramRecords = 1024;

export type SourceDedup = ReturnType<typeof createSourceDedup>;

/** What comes through several sources, taken for one: lines of the kernel, and records of programs. */
export function createSourceDedup({ kernelSources, wholeKernelSources, programSources, saved }: SourceDedupOptions) {
  const kernel = createDedup({ sources: kernelSources, saved, whole: wholeKernelSources ?? [] });
  const earlier = (saved as { readonly [key: string]: Json } | undefined)?.['programs'];
  const programs = createDedup({
    sources: programSources,
    saved: earlier,
    max: maxProgramRecords,
    countsForgotten: true,
  });
  return {
    kernel: kernel.isFirst,
    /** False: `kernel` is true of every line. */
    comparesKernel: kernelSources.length > 1,
    /** By text alone: the sources may stamp in different zones. */
    program: (source: string, text: string): boolean =>
      programSources.length < 2 || !isKlog(text) || programs.isFirst(source, text, 0),
    /** Of both: what the metrics show, and what belongs to the positions. */
    once: {
      counts: {
        get repeats(): number {
          return kernel.counts.repeats + programs.counts.repeats;
        },
        // What one program's log never had is not missed.
        get forgotten(): number {
          return kernel.counts.forgotten;
        },
      },
      state: (): Json => ({ ...(kernel.state() as { readonly [key: string]: Json }), programs: programs.state() }),
    },
  };
}

/** klog stamps to the microsecond: such a record is logged once. Others have texts that come again. */
function isKlog(text: string): boolean {
  return hasKlogHeader(text) || klogJsonTime(text) !== undefined;
}
