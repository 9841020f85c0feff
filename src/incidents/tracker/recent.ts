import * as z from 'zod/mini';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing } from '../../model/program-record.ts';

const minute: Millis = 60_000;
const hour = 60 * minute;
/** A pause this long ends a run. */
const pause = 5 * minute;
/** Keeps enough runs for the hour that is looked at, and a few more. */
const runLimit = 16;
/** A host in reach of the internet drops something all the time: what began then says nothing. */
const rareDrops = 3;

const shape = z.object({
  backends: z.record(z.string(), z.object({ backend: z.enum(['legacy', 'nf_tables']), time: z.number() })),
  /** Times, in their order, in which the host's firewall dropped packets without a pause of five minutes. */
  runs: z.array(z.object({ first: z.number(), last: z.number(), drops: z.number() })),
  /** Whether felix uses eBPF, as it logged last. */
  ebpf: z.optional(z.boolean()),
});

/** Plain JSON. */
export type RecentState = z.infer<typeof shape>;

/** Keeps recent lines of this node that may explain an incident. Times are those of the log. */
export type Recent = ReturnType<typeof createRecent>;

/** Begins with nothing where `restored` is of another version. */
export function createRecent(restored?: RecentState) {
  const { data } = shape.safeParse(restored);
  const backends: RecentState['backends'] = { ...data?.backends };
  const runs: RecentState['runs'] = data?.runs.slice(-runLimit) ?? [];
  let ebpf = data?.ebpf;

  return {
    noteBackend(failing: Failing, backend: 'legacy' | 'nf_tables', time: Millis): void {
      if (time >= (backends[failing]?.time ?? -Infinity)) backends[failing] = { backend, time };
    },
    /** Returns the last one of each program, if it was seen in the hour before. */
    backends(now: Millis): NodeFacts['backends'] {
      const seen: Partial<Record<Failing, 'legacy' | 'nf_tables'>> = {};
      for (const [failing, { backend, time }] of Object.entries(backends))
        if (now - time <= hour) seen[failing as Failing] = backend;
      return seen;
    },
    /** felix has logged that it uses eBPF, or that the kernel has none; undefined: neither since its restart. */
    noteEbpf: (on: boolean | undefined): void => void (ebpf = on),
    get ebpf(): boolean | undefined {
      return ebpf;
    },
    noteFirewallDrop(time: Millis, drops = 1): void {
      // Almost always the last; logs may be a little out of order among each other.
      const run = runs.findLast(({ first, last }) => time >= first - pause && time <= last + pause);
      if (run === undefined) return begin(time, drops);
      run.first = Math.min(run.first, time);
      run.last = Math.max(run.last, time);
      run.drops += drops;
    },
    /** Returns the time at which the host's firewall began to drop, if that was within a minute of `at` and rare in the hour before. */
    firewallDropsSince(at: Millis): Millis | undefined {
      const run = runs.find(({ first }) => Math.abs(first - at) <= minute);
      if (run === undefined) return undefined;
      const before = runs.filter(({ first, last }) => first < run.first && last >= run.first - hour);
      return before.reduce((sum, { drops }) => sum + drops, 0) >= rareDrops ? undefined : run.first;
    },
    state: (): RecentState => structuredClone({ backends, runs, ...(ebpf !== undefined && { ebpf }) }),
  };

  function begin(time: Millis, drops: number): void {
    const place = runs.findLastIndex(({ last }) => last < time) + 1;
    runs.splice(place, 0, { first: time, last: time, drops });
    if (runs.length > runLimit) runs.shift();
  }
}
