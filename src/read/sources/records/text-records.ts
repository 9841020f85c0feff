import type { StampClock } from '../envelopes/clock.ts';
import type { Envelope } from '../envelopes/envelope.ts';
import type { KnownTexts } from '../envelopes/json-messages.ts';
import { readEnvelope } from '../envelopes/read-envelope.ts';
import { createLineRecords } from './line-records.ts';

export interface TextRecord {
  envelope: Envelope;
  /** The line with its envelope, or the record of several lines. */
  whole: string;
}

const timing = { now: () => 0, schedule: () => () => {} };

/** Reads the lines of a short text, in the order of their first lines. Several lines may be one record. `text`: latin1. */
export function readText(text: string, clock: StampClock, known: KnownTexts): readonly TextRecord[] {
  const found: (TextRecord & { number: number })[] = [];
  const lines = text.split(/\r?\n/);
  const records = createLineRecords({
    onRecord: (envelope, number) =>
      void found.push({
        envelope,
        number,
        whole: envelope.text.includes('\n') ? envelope.text : (lines[number] ?? ''),
      }),
    timing,
  });
  for (const [number, whole] of lines.entries()) {
    if (whole.trim() === '' && !records.isOpen) continue;
    const envelope = readEnvelope(whole, clock, known);
    for (const each of [envelope, ...envelope.more])
      if (!records.take(each, number)) found.push({ envelope: each, number, whole });
  }
  records.finish();
  return found.toSorted((a, b) => a.number - b.number);
}
