import { leastClientPort } from '../model/flow-identity.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Repeat, Repeats } from '../sources/source.ts';
import type { Decision } from './decision.ts';

export type PacketDecision = Extract<Decision, { kind: 'drop' | 'no-drop' }>;

/** Lines that say the same. */
export interface Alike {
  /** Keeps only the earliest of all times. */
  line: LogLine;
  lines: number;
  /** The latest of all times. Undefined: of one line that repeats none. */
  last: Millis | undefined;
}

export interface RepeatedDecision extends Repeat, Alike {
  /** The pipeline that decided: another one has other settings. */
  owner: object;
  decision: PacketDecision;
  /** Addresses keep their owners in this period. Only drops are given to owners. */
  epoch: number | undefined;
}

export interface RepeatedDecisions extends Repeats {
  /** The decision on the line that was taken last. */
  decided: (line: LogLine, decision: Decision | undefined) => void;
}

export interface RepeatedDecisionsOptions {
  /** As in `FlowMemo`. */
  epochAt: (time: Millis) => number | undefined;
  /** Lines of one decision that were logged from `time` and before then may be carried out together. */
  alikeUntil: (decision: PacketDecision, time: Millis) => Millis;
  /** Times of lines must not go back, because they decide what is due. */
  isByLines: boolean;
  carryOut: (decision: PacketDecision, alike: Alike) => void;
}

/**
 * Lines that repeat a decision are added up and carried out together, as counting takes several times longer than comparing. What comes
 * of that is the same: they are of one second, and nothing that depends on the number of lines is due between them.
 */
export function createRepeatedDecisions(options: RepeatedDecisionsOptions): RepeatedDecisions {
  const { epochAt, alikeUntil, isByLines, carryOut } = options;
  const owner = {};
  let line: LogLine | undefined;
  let decision: Decision | undefined;
  /** Decisions with lines that are not carried out yet, in the order of their first lines. */
  let open: RepeatedDecision[] = [];
  /** Times that may be added: what is due, and the hours of all objects, are the same. */
  let from: Millis = -Infinity;
  let until: Millis = Infinity;

  return {
    decided(latestLine, decided) {
      line = latestLine;
      decision = decided;
    },
    last() {
      if (line === undefined || (decision?.kind !== 'drop' && decision?.kind !== 'no-drop')) return undefined;
      const { observation } = decision;
      // Other loggers vary other numbers in their lines, and an ICMP error shows two packets.
      if (observation.kind !== 'packet' || observation.logger !== 'netfilter') return undefined;
      if (observation.inner !== undefined || observation.packet.protocol === 'ARP') return undefined;
      const epoch = decision.kind === 'drop' ? epochAt(line.time) : undefined;
      const sourcePortsFrom = leastClientPort(observation.packet);
      const kept = { ...line, text: '' };
      const repeat: RepeatedDecision = { owner, line: kept, lines: 0, last: 0, decision, epoch, sourcePortsFrom };
      return repeat;
    },
    again(repeat, time) {
      const known = repeat as RepeatedDecision;
      if (known.owner !== owner) return false;
      if (known.decision.kind === 'drop' && (known.epoch === undefined || epochAt(time) !== known.epoch)) return false;
      if (time < from || time >= until) flush();
      if (isByLines) from = time;
      else if (open.length === 0) from = Math.floor(time / 1000) * 1000;
      if (known.lines++ > 0) {
        if (time < known.line.time) known.line.time = time;
        else if (time > (known.last as Millis)) known.last = time;
        return true;
      }
      known.line.time = known.last = time;
      until = Math.min(until, alikeUntil(known.decision, time));
      open.push(known);
      return true;
    },
    flush,
  };

  function flush(): void {
    if (open.length === 0) return;
    const all = open;
    open = [];
    from = -Infinity;
    until = Infinity;
    for (const known of all) {
      carryOut(known.decision, known);
      known.lines = 0;
    }
  }
}
