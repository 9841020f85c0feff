import * as z from 'zod/mini';
import type { NodeFacts } from '../../model/incident.ts';
import type { Millis } from '../../model/log-line.ts';
import type { Failing } from '../../model/program-record.ts';

/** A time in which the host's firewall dropped packets without a pause of five minutes. */
interface Run {
  first: Millis;
  last: Millis;
  drops: number;
}

/** Plain JSON. */
export interface RecentState {
  backends: Partial<Record<Failing, { backend: 'legacy' | 'nf_tables'; time: Millis }>>;
  /** In order of time. */
  runs: Run[];
  /** Whether felix uses eBPF, as it logged last. */
  ebpf?: boolean | undefined;
}

/** What was logged on this node lately that may explain an incident. Times are those of the log. */
export interface Recent {
  noteBackend: (failing: Failing, backend: 'legacy' | 'nf_tables', time: Millis) => void;
  /** Of each program the last one, if it was seen in the hour before. */
  backends: (now: Millis) => NodeFacts['backends'];
  /** felix has logged that it uses eBPF, or that the kernel has none; undefined: it was restarted and has logged neither yet. */
  noteEbpf: (on: boolean | undefined) => void;
  readonly ebpf: boolean | undefined;
  noteFirewallDrop: (time: Millis) => void;
  /** When the host's firewall began to drop, if that was within a minute of `at` and rare in the hour before. */
  firewallDropsSince: (at: Millis) => Millis | undefined;
  state: () => RecentState;
}

const minute: Millis = 60_000;
const hour = 60 * minute;
/** A pause this long ends a run. */
const pause = 5 * minute;
/** So many fit into the hour that is looked at, and a few more. */
const runLimit = 16;
/** A host in reach of the internet drops something all the time: what began then says nothing. */
const rareDrops = 3;

const shape = z.object({
  backends: z.record(z.string(), z.object({ backend: z.enum(['legacy', 'nf_tables']), time: z.number() })),
  runs: z.array(z.object({ first: z.number(), last: z.number(), drops: z.number() })),
  ebpf: z.optional(z.boolean()),
});

/** Begins with nothing where `restored` is of another version. */
export function createRecent(restored?: RecentState): Recent {
  const { data } = shape.safeParse(restored);
  const backends: RecentState['backends'] = { ...data?.backends };
  const runs: Run[] = data?.runs.slice(-runLimit) ?? [];
  let ebpf = data?.ebpf;

  return {
    noteBackend(failing, backend, time) {
      if (time >= (backends[failing]?.time ?? -Infinity)) backends[failing] = { backend, time };
    },
    backends(now) {
      const seen: Partial<Record<Failing, 'legacy' | 'nf_tables'>> = {};
      for (const [failing, { backend, time }] of Object.entries(backends))
        if (now - time <= hour) seen[failing as Failing] = backend;
      return seen;
    },
    noteEbpf: (on) => void (ebpf = on),
    get ebpf() {
      return ebpf;
    },
    noteFirewallDrop(time) {
      // Almost always the last; logs may be a little out of order among each other.
      const run = runs.findLast(({ first, last }) => time >= first - pause && time <= last + pause);
      if (run === undefined) return begin(time);
      run.first = Math.min(run.first, time);
      run.last = Math.max(run.last, time);
      run.drops++;
    },
    firewallDropsSince(at) {
      const run = runs.find(({ first }) => Math.abs(first - at) <= minute);
      if (run === undefined) return undefined;
      const before = runs.filter(({ first, last }) => first < run.first && last >= run.first - hour);
      return before.reduce((sum, { drops }) => sum + drops, 0) >= rareDrops ? undefined : run.first;
    },
    state: () => structuredClone({ backends, runs, ...(ebpf !== undefined && { ebpf }) }),
  };

  function begin(time: Millis): void {
    const place = runs.findLastIndex(({ last }) => last < time) + 1;
    runs.splice(place, 0, { first: time, last: time, drops: 1 });
    if (runs.length > runLimit) runs.shift();
  }
}
