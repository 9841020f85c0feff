import { leastClientPort } from '../drops/orientation.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Repeat, Repeats } from '../sources/source.ts';
import type { Decision } from './decision.ts';

type PacketDecision = Extract<Decision, { kind: 'drop' | 'no-drop' }>;

interface RepeatedDecision extends Repeat {
  /** The pipeline that decided: another one has other settings. */
  owner: object;
  /** Its time is that of the last repeat. */
  line: LogLine;
  decision: PacketDecision;
  /** In which addresses keep their owners. Only drops are given to owners. */
  epoch: number | undefined;
}

export interface RepeatedDecisions extends Repeats {
  /** What was decided on the line that was taken last. */
  decided: (line: LogLine, decision: Decision | undefined) => void;
}

/** `epochAt`: as in `FlowMemo`. `carryOut`: what was decided, of a line that is the same but for its time and its number. */
export function createRepeatedDecisions(
  epochAt: (time: Millis) => number | undefined,
  carryOut: (line: LogLine, decision: PacketDecision) => void,
): RepeatedDecisions {
  const owner = {};
  let line: LogLine | undefined;
  let decision: Decision | undefined;

  return {
    decided(latest, decided) {
      line = latest;
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
      const repeat: RepeatedDecision = { owner, line: { ...line, text: '' }, decision, epoch, sourcePortsFrom };
      return repeat;
    },
    again(repeat, time) {
      const known = repeat as RepeatedDecision;
      if (known.owner !== owner) return false;
      if (known.decision.kind === 'drop' && (known.epoch === undefined || epochAt(time) !== known.epoch)) return false;
      known.line.time = time;
      carryOut(known.line, known.decision);
      return true;
    },
  };
}
