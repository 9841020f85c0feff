import { tables } from '../aggregate/aggregate.ts';
import { readGapIntervals } from '../aggregate/time-line.ts';
import type { Engine } from '../engine.ts';
import type { Report } from '../model.ts';
import { countText, plain } from '../texts/plain.ts';
import type { Mark } from './row-format.ts';

/** What is marked in the time line: intervals with loss, scans and incidents. */
export async function readMarks(engine: Engine, { timeLine, scans, incidents }: Report): Promise<Mark[]> {
  if (timeLine === undefined) return [];
  const { step, start } = timeLine;
  const gaps = (await readGapIntervals(engine, tables.rows, timeLine)).map((interval): Mark => ({
    kind: 'gap',
    first: start + interval * step,
    last: start + (interval + 1) * step,
    text: 'Records of a log were lost',
  }));
  return [
    ...joined(gaps),
    ...scans.top.map(({ from, destinations, first, last }): Mark => ({
      kind: 'scan',
      first,
      last,
      text: `Scan: ${plain(from)}, ${countText(destinations, 'destination')}`,
    })),
    ...incidents.top.map(({ reason, object, first, last }): Mark => ({
      kind: 'incident',
      first,
      last,
      text: `${plain(reason)} on ${plain(object)}`,
    })),
  ];
}

/** Gaps that follow each other are one. */
function joined(gaps: readonly Mark[]): Mark[] {
  const found: Mark[] = [];
  for (const gap of gaps) {
    const before = found.at(-1);
    if (before !== undefined && before.last === gap.first) before.last = gap.last;
    else found.push({ ...gap });
  }
  return found;
}
