/** Adds up lines that repeat an earlier decision. */
import { nodeRefByName, objectKey } from '../../base/model/endpoint.ts';
import { leastClientPort } from '../../base/model/flow-identity.ts';
import type { LogLine, Millis } from '../../base/model/log-line.ts';
import { windowOf } from '../series/series.ts';
import type { Repeat } from '../../read/sources/sources.ts';
import type { Decision, Decisions } from './decision.ts';
import type { FlowMeaning } from './meaning.ts';

type PacketDecision = Extract<Decision, { kind: 'drop' | 'no-drop' }>;

export interface LineGroup {
  /** The first line, with the earliest time of all. */
  line: LogLine;
  lines: number;
  /** The latest time of all; undefined for a single line that repeats none. */
  last: Millis | undefined;
}

interface RepeatedDecision extends Repeat, LineGroup {
  /** The settings under which it was decided: another object after each change. */
  owner: object;
  decision: PacketDecision;
  /** The epoch of the directory, in which addresses keep their owners; undefined if it is not known, and for packets that were not lost. */
  epoch: number | undefined;
}

interface RepeatedDecisionsOptions {
  epochAt: Decisions['epochAt'];
  /** Returns until when no write is due on a node. Undefined if a clock decides that, and not the times of lines. */
  quietUntil: ((node: string) => Millis) | undefined;
}

export interface RepeatedDecisions {
  decided(latestLine: LogLine, decided: Decision | undefined): void;
  /** Makes the memo for lines like the last one; undefined if such lines are decided one by one. */
  last: () => Repeat | undefined;
  /** Returns whether `take` must be called before a line of this time is added. */
  isOver: (time: Millis) => boolean;
  /** Adds one more line. Returns false if the memo is no longer valid, so that the line must be decided. */
  again(repeat: Repeat, time: Millis): boolean;
  /** Takes the added-up decision. The caller carries it out, and sets its `lines` to 0. */
  take(): readonly RepeatedDecision[];
  /** Makes all memos invalid. */
  forget: () => void;
}

/** Counting takes several times longer than comparing. All lines are of one second with nothing due between, so the result is the same. */
export function createRepeatedDecisions({ epochAt, quietUntil }: RepeatedDecisionsOptions): RepeatedDecisions {
  let owner = {};
  let line: LogLine | undefined;
  let decision: Decision | undefined;
  /** Decisions with lines that are not carried out yet, in the order of their first lines. */
  let open: RepeatedDecision[] = [];
  /** The time span in which lines may be added. In it, no write becomes due and no window ends. */
  let from: Millis = -Infinity;
  let until: Millis = Infinity;

  return {
    decided(latestLine: LogLine, decided: Decision | undefined): void {
      line = latestLine;
      decision = decided;
    },
    last(this: void): Repeat | undefined {
      if (line === undefined || (decision?.kind !== 'drop' && decision?.kind !== 'no-drop')) return undefined;
      const { observation } = decision;
      // Other loggers vary other numbers in their lines, and an ICMP error shows two packets.
      if (observation.kind !== 'packet' || observation.logger !== 'netfilter') return undefined;
      // The same packet may have a second line (twins.ts).
      if (observation.notice !== undefined) return undefined;
      if (observation.inner !== undefined || observation.packet.protocol === 'ARP') return undefined;
      const epoch = decision.kind === 'drop' ? epochAt(line.time) : undefined;
      const sourcePortsFrom = leastClientPort(observation.packet);
      const kept = { ...line, text: '' };
      const repeat: RepeatedDecision = { owner, line: kept, lines: 0, last: 0, decision, epoch, sourcePortsFrom };
      return repeat;
    },
    isOver: (time: Millis): boolean => time < from || time >= until,
    again(repeat: Repeat, time: Millis): boolean {
      const known = repeat as RepeatedDecision;
      if (known.owner !== owner) return false;
      if (known.decision.kind === 'drop' && (known.epoch === undefined || epochAt(time) !== known.epoch)) return false;
      // If the times of lines decide what is due, an earlier line may not follow.
      if (quietUntil !== undefined) from = time;
      else from = Math.floor(time / second) * second;
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
    take(): readonly RepeatedDecision[] {
      if (open.length === 0) return nothing;
      const all = open;
      open = [];
      from = -Infinity;
      until = Infinity;
      return all;
    },
    forget: (): void => void (owner = {}),
  };

  /** The end of the second, or earlier the end of an hour or the next write. */
  function alikeUntil(known: PacketDecision, time: Millis): Millis {
    const nextSecond = (Math.floor(time / second) + 1) * second;
    if (known.kind !== 'drop' || known.isIgnored) return nextSecond;
    const { meaning } = known;
    return Math.min(nextSecond, windowEnd(meaning, time), quietUntil?.(meaning.node) ?? Infinity);
  }
}

const nothing: readonly RepeatedDecision[] = [];

/** Intervals of the audit are whole seconds, and the first write is due a second after the first packet. */
const second: Millis = 1000;

const windowEnds = new WeakMap<FlowMeaning, { from: Millis; end: Millis }>();

/** Returns when the first window ends, of all objects on which the packets may be counted. The node is one, because scans are counted there. */
function windowEnd(meaning: FlowMeaning, time: Millis): Millis {
  const known = windowEnds.get(meaning);
  if (known !== undefined && time >= known.from && time < known.end) return known.end;
  const objects = [nodeRefByName(meaning.node), ...meaning.findings.map(({ regarding }) => regarding)];
  const end = Math.min(...objects.map((object) => windowOf(time, objectKey(object)).end));
  windowEnds.set(meaning, { from: time, end });
  return end;
}
