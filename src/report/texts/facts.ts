/** Makes what a report says beside its lists: the summary, and what makes its figures less than the truth. */
import type { Extent, Report } from '../model.ts';
import { countText, durationText, numberText, timeText } from './plain.ts';

/** The summary: name and value. */
export function factsOf(report: Report): [string, string][] {
  const { policy, extent, actions, atLeast, clusters, nodes, pairs, changes } = report;
  const facts: [string, string | undefined][] = [
    ['Policy', policy.length > 0 ? `only records that name ${policy.join(' or ')}` : undefined],
    ['Period', periodText(extent)],
    ['Packets', `${atLeast ? 'at least ' : ''}${numberText(extent.packets)}`],
    ['Outcome', actions.map(({ name, packets }) => `${numberText(packets)} ${name}`).join(', ') || undefined],
    ['Flow records', numberText(extent.records)],
    ['Pairs', pairs > 0 ? `${numberText(pairs)} of source, destination and service` : undefined],
    ['Nodes', nodes > 0 ? numberText(nodes) : undefined],
    [
      'Clusters',
      clusters.length > 0 ? clusters.slice(0, 5).join(', ') + (clusters.length > 5 ? ', …' : '') : undefined,
    ],
    ['Baseline', changes && `${periodText(changes.baseline)}; ${countText(changes.baseline.packets, 'packet')}`],
  ];
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] satisfies [string, string]]));
}

function periodText({ first, last }: Extent): string {
  if (first === undefined || last === undefined) return 'no records';
  return `${timeText(first)} to ${timeText(last)} UTC (${durationText(last - first)})`;
}

/** Says what makes the figures less than the truth. */
export function notesOf(report: Report): string[] {
  const { extent, duplicates, broken, refused, noise, unknownKinds, timeLine, changes } = report;
  const notes: (string | false)[] = [
    ...policyNotes(report),
    extent.gaps > 0 &&
      `Records of the logs were lost in ${countText(extent.gaps, 'interval')} of a node: counts are lower bounds there, and a pair may be missing.`,
    changes !== undefined &&
      changes.baseline.gaps > 0 &&
      `The baseline has ${countText(changes.baseline.gaps, 'interval')} with lost records: what seems new may have been there before.`,
    changes !== undefined &&
      lengthsDiffer(extent, changes.baseline) &&
      'The baseline and these rows cover periods of different length: what is rare may be in one of them only.',
    broken > 0 && `${countText(broken, 'row')} could not be read and ${broken === 1 ? 'is' : 'are'} left out.`,
    refused > 0 && `${countText(refused, 'row')} of another schema version ${refused === 1 ? 'is' : 'are'} left out.`,
    duplicates > 0 &&
      `${countText(duplicates, 'row')} had an event.id that was there before and ${duplicates === 1 ? 'is' : 'are'} counted once.`,
    noise > 0 &&
      `${countText(noise, 'packet')} of link-local chatter (multicast, broadcast, DHCP) left out; --include-noise takes them in.`,
    unknownKinds > 0 && `${countText(unknownKinds, 'record')} of a kind that this version does not know.`,
    timeLine !== undefined &&
      timeLine.outside > 0 &&
      `${countText(timeLine.outside, 'record')} with a time that cannot be right: counted, but not in the time line.`,
  ];
  return notes.filter((note) => note !== false);
}

function lengthsDiffer(a: Extent, b: Extent): boolean {
  const [one, other] = [a, b].map(({ first = 0, last = 0 }) => last - first) as [number, number];
  return Math.max(one, other) > 2 * Math.min(one, other);
}

/** Why less may be known of policies than the reader thinks. */
function policyNotes({ policy, extent, changes }: Report): (string | false)[] {
  const older = 'of an older agent, which writes no verdicts of policies';
  return [
    policy.length > 0 &&
      extent.records === 0 &&
      'No record names such a policy. Names are as in NetworkPolicy shop/web; * stands for any characters.',
    extent.withoutVerdicts > 0 &&
      `${countText(extent.withoutVerdicts, 'record')} ${older}: they count for the policy in the log, with the verdict unknown.`,
    changes !== undefined &&
      changes.baseline.withoutVerdicts > 0 &&
      `The baseline has ${countText(changes.baseline.withoutVerdicts, 'record')} ${older}: a policy that seems new may have denied packets before.`,
  ];
}
