import { leastClientPort } from '../model/flow-identity.ts';
import type { LogLine, Millis } from '../model/log-line.ts';
import type { Repeat, Repeats } from '../sources/source.ts';
import type { Decision } from './decision.ts';
import { nodeRef, objectKey } from '../model/endpoint.ts';
import { windowOf } from '../series/series.ts';
import type { FlowMeaning } from './flow-cache.ts';

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
  /** The same as in `FlowMemo`. */
  epochAt: (time: Millis) => number | undefined;
  /** The same as in `PipelineOptions`. */
  quietUntil: ((node: string) => Millis) | undefined;
  /** Times of lines must not go back, because they decide what is due. */
  isByLines: boolean;
  carryOut: (decision: PacketDecision, alike: Alike) => void;
}

/**
 * Lines that repeat a decision are added up and carried out together, as counting takes several times longer than comparing. What comes
 * of that is the same: they are of one second, and nothing that depends on the number of lines is due between them.
 */
export function createRepeatedDecisions(options: RepeatedDecisionsOptions): RepeatedDecisions {
  const { epochAt, quietUntil, isByLines, carryOut } = options;
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
      until = Math.min(until, alikeUntil(known.decision, time, quietUntil));
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

/** Intervals of the audit are whole seconds, and the first write is due a second after the first packet. */
const second: Millis = 1000;

/** The ends of the hours in which packets of a flow were counted last. */
const windowEnds = new WeakMap<FlowMeaning, { from: Millis; end: Millis }>();

/**
 * Packets of one decision that were logged from `time` and before the time returned are counted in the same series, the same interval of the
 * audit, and with nothing being written in between. `quietUntil`: as in `PipelineOptions`.
 */
function alikeUntil(
  decision: PacketDecision,
  time: Millis,
  quietUntil: ((node: string) => Millis) | undefined,
): Millis {
  const nextSecond = (Math.floor(time / second) + 1) * second;
  if (decision.kind !== 'drop' || decision.isIgnored) return nextSecond;
  const { meaning } = decision;
  return Math.min(nextSecond, windowEnd(meaning, time), quietUntil?.(meaning.node) ?? Infinity);
}

/** The first end of a window of all objects that its packets may be counted on; of a scan, the node is one of them. */
function windowEnd(meaning: FlowMeaning, time: Millis): Millis {
  const known = windowEnds.get(meaning);
  if (known !== undefined && time >= known.from && time < known.end) return known.end;
  const objects = [nodeRef(meaning.node), ...meaning.findings.map(({ regarding }) => regarding)];
  const end = Math.min(...objects.map((object) => windowOf(time, objectKey(object)).end));
  windowEnds.set(meaning, { from: time, end });
  return end;
}
