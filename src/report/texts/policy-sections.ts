/** What a report says of policies. */
import type { Bounded, PolicySum, Report } from '../model.ts';
import { countText, numberText, timeText } from './plain.ts';
import { type Cell, moreText, type Section } from './section.ts';

const policyColumns = ['policy', 'verdict', 'packets', 'pairs', 'Namespaces', 'first', 'last'] as const;

function policyRow({ policy, verdict, packets, pairs, namespaces, topNamespaces, first, last }: PolicySum): Cell[] {
  const others = namespaces - topNamespaces.length;
  const names = topNamespaces.join(', ') + (others > 0 ? ` and ${numberText(others)} more` : '');
  return [policy, verdict, packets, pairs, names, timeText(first), timeText(last)];
}

export function policySection({ top, more }: Report['policies']): Section {
  return {
    id: 'policies',
    title: 'By policy',
    lead: 'What policies say of the packets, where records have it. A packet that several policies deny counts for each of them.',
    columns: policyColumns,
    rows: top.map(policyRow),
    more: moreText(more, 'row'),
    empty: 'No packets.',
  };
}

export function policyChange(id: string, title: string, { top, more }: Bounded<PolicySum>, empty: string): Section {
  return { id, title, columns: policyColumns, rows: top.map(policyRow), more: moreText(more, 'row'), empty };
}

/** Why less may be known of policies than the reader thinks. */
export function policyNotes({ policy, extent, changes }: Report): (string | false)[] {
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
