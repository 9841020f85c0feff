import { leastClientPort } from '../drops/orientation.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Repeat, Repeats } from '../sources/source.ts';
import type { Decision } from './decision.ts';

export type PacketDecision = Extract<Decision, { kind: 'drop' | 'no-drop' }>;

/** Lines that say the same, in the order of their times. */
export interface Alike {
  /** Of all times only that of the first. */
  line: LogLine;
  lines: number;
  /** Undefined: of one line that repeats none. */
  last: Millis | undefined;
}

export interface RepeatedDecision extends Repeat, Alike {
  /** The pipeline that decided: another one has other settings. */
  owner: object;
  decision: PacketDecision;
  /** In which addresses keep their owners. Only drops are given to owners. */
  epoch: number | undefined;
}

export interface RepeatedDecisions extends Repeats {
  /** What was decided on the line that was taken last. */
  decided: (line: LogLine, decision: Decision | undefined) => void;
}

export interface RepeatedDecisionsOptions {
  /** As in `FlowMemo`. */
  epochAt: (time: Millis) => number | undefined;
  /** Lines of one decision that were logged from `time` and before then may be carried out together. */
  alikeUntil: (decision: PacketDecision, time: Millis) => Millis;
  carryOut: (decision: PacketDecision, alike: Alike) => void;
}

/**
 * Lines that repeat a decision are added up and carried out together, as counting takes several times longer than comparing. What comes
 * of that is the same: they are in the order of their times, and nothing that depends on the number of lines is due between them.
 */
export function createRepeatedDecisions(options: RepeatedDecisionsOptions): RepeatedDecisions {
  const { epochAt, alikeUntil, carryOut } = options;
  const owner = {};
  let line: LogLine | undefined;
  let decision: Decision | undefined;
  /** With lines that were not carried out yet, in the order of their first ones. */
  let open: RepeatedDecision[] = [];
  let latest: Millis = -Infinity;
  let until: Millis = Infinity;

  return {
    decided(latestLine, decided) {
      line = latestLine;
      decision = decided;
    },
    last() {
      if (line === undefined || (decision?.kind !== 'drop' && decision?.kind !== 'no-drop')) return undefined;
      const { observation } = decision;
      // In the lines of other loggers other numbers vary, and an ICMP error shows two packets.
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
      if (time < latest || time >= until) flush();
      latest = known.last = time;
      if (known.lines++ > 0) return true;
      known.line.time = time;
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
    latest = -Infinity;
    until = Infinity;
    for (const known of all) {
      carryOut(known.decision, known);
      known.lines = 0;
    }
  }
}
