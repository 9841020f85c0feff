/** Makes the notes of a report, which name the gaps in its figures. */
import type { AuditReport, RecordTotals, OmittedRows } from '../model.ts';
import { countText } from './plain.ts';

export function notesOf(report: AuditReport): string[] {
  const { policy, extent, leftOutOfBaseline, noise, unknownKinds, timeLine, changes } = report;
  const earlierGaps = changes?.baseline.gaps ?? 0;
  const outside = timeLine?.outside ?? 0;
  const notes: (string | false)[] = [
    policy.length > 0 &&
      extent.records === 0 &&
      'No record names such a policy. Names are as in NetworkPolicy shop/web; * stands for any characters.',
    extent.gaps > 0 &&
      `Records were lost in ${countText(extent.gaps, 'gap')}: counts are lower bounds there, and a pair may be missing.`,
    earlierGaps > 0 &&
      `The baseline has ${countText(earlierGaps, 'gap')} with lost records: what seems new may have been there before.`,
    changes !== undefined &&
      lengthsDiffer(extent, changes.baseline) &&
      'The baseline and these rows cover periods of different length: what is rare may be in one of them only.',
    ...leftOutNotes(report),
    ...(leftOutOfBaseline === undefined
      ? []
      : leftOutNotes(leftOutOfBaseline).map((note) => `Of the baseline, ${note}`)),
    noise > 0 &&
      `${countText(noise, 'packet')} of link-local chatter (multicast, broadcast, DHCP) left out; --include-noise takes them in.`,
    unknownKinds > 0 && `${countText(unknownKinds, 'record')} of a kind that this version does not know.`,
    outside > 0 &&
      `${countText(outside, 'record')} with a time that cannot be right: counted, but not in the time line.`,
  ];
  return notes.filter((note) => note !== false);
}

function leftOutNotes({ broken, refused, duplicates }: OmittedRows): string[] {
  const notes: (string | false)[] = [
    broken > 0 && `${countText(broken, 'row')} could not be read and ${broken === 1 ? 'is' : 'are'} left out.`,
    refused > 0 && `${countText(refused, 'row')} of another schema version ${refused === 1 ? 'is' : 'are'} left out.`,
    duplicates > 0 &&
      `${countText(duplicates, 'row')} had an event.id that was there before and ${duplicates === 1 ? 'is' : 'are'} counted once.`,
  ];
  return notes.filter((note) => note !== false);
}

function lengthsDiffer(a: RecordTotals, b: RecordTotals): boolean {
  const [shorter = 0, longer = 0] = [a, b].map(({ first = 0, last = 0 }) => last - first).toSorted((x, y) => x - y);
  return longer > 2 * shorter;
}
