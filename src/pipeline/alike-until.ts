import { nodeRef, objectKey } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import { windowOf } from '../series/series.ts';
import type { FlowMeaning } from './flow-cache.ts';
import type { PacketDecision } from './repeated-decisions.ts';

/** Intervals of the audit are whole seconds, and the first write is due a second after the first packet. */
const second: Millis = 1000;

/** The ends of the hours in which packets of a flow were counted last. */
const windowEnds = new WeakMap<FlowMeaning, { from: Millis; end: Millis }>();

/**
 * Packets of one decision that were logged from `time` and before the time returned are counted in the same series, the same interval of the
 * audit, and with nothing being written in between. `quietUntil`: as in `PipelineOptions`.
 */
export function alikeUntil(
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
