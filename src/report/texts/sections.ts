/** What a report says as lists, which the table, Markdown and the page print each in its way. */
import type { Bounded, Count, Extent, Pair, Ranking, RankingName, Report } from '../model.ts';
import { countText, durationText, numberText, timeText } from './plain.ts';
import { policyChange, policyNotes, policySection } from './policy-sections.ts';
import { type Cell, type Cut, moreText, type Section } from './section.ts';

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

/** What makes the figures less than the truth. */
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

/** `most`: rows of each section at most. */
export function sectionsOf(report: Report, most: number): Section[] {
  const { top, rankings, changes, pairs, extent } = report;
  const cut: Cut = ({ top: all, more }) => ({
    top: all.slice(0, most),
    more: more + Math.max(0, all.length - most),
  });
  const packets = cut(top).top;
  return [
    ...(changes === undefined ? [] : changeSections(changes, cut)),
    {
      id: 'top',
      title: 'Most packets',
      columns: pairColumns,
      rows: packets.map(pairRow),
      more: moreText(pairs - packets.length, 'pair'),
      empty: 'No packets.',
    },
    policySection(cut(report.policies)),
    ...(Object.entries(rankingTitles) as [RankingName, string][]).map(([name, title]) =>
      rankingSection(`ranking-${name}`, title, rankings[name], extent.packets),
    ),
    scanSection(cut(report.scans)),
    gapSection(cut(report.gaps)),
    ...eventSections(report, cut),
  ];
}

function changeSections({ appeared, vanished, policies }: NonNullable<Report['changes']>, cut: Cut): Section[] {
  return [
    changeSection('appeared', 'New since the baseline', cut(appeared), 'Nothing that the baseline did not have.'),
    changeSection('vanished', 'Gone since the baseline', cut(vanished), 'All that the baseline had is still there.'),
    policyChange(
      'policies-appeared',
      'Policies new since the baseline',
      cut(policies.appeared),
      'Each was in the baseline.',
    ),
    policyChange(
      'policies-vanished',
      'Policies gone since the baseline',
      cut(policies.vanished),
      'Each is still there.',
    ),
  ];
}

function scanSection({ top, more }: Report['scans']): Section {
  return {
    id: 'scans',
    title: 'Scans',
    lead: 'Sources that were denied by more than 8 destinations within an hour.',
    columns: ['source', 'destinations', 'hours', 'packets', 'first', 'last'],
    rows: top.map(({ from, destinations, hours, packets, first, last }) => [
      from,
      destinations,
      hours,
      packets,
      timeText(first),
      timeText(last),
    ]),
    more: moreText(more, 'source'),
    empty: 'No source was denied by more than 8 destinations within an hour.',
  };
}

function gapSection({ top, more }: Report['gaps']): Section {
  return {
    id: 'gaps',
    title: 'Gaps',
    lead: 'Intervals in which records of a log were lost or suppressed.',
    columns: ['node', 'lost by', 'intervals', 'records', 'first', 'last'],
    rows: top.map(({ node, reason, intervals, lost, first, last }) => [
      node,
      reason,
      intervals,
      lost > 0 ? lost : 'unknown',
      timeText(first),
      timeText(last),
    ]),
    more: moreText(more, 'row'),
    empty: 'No loss is known: the counts are exact.',
  };
}

/** Leaves out empty sections, because a report without Events need not mention them. */
function eventSections({ events, incidents }: Report, cut: Cut): Section[] {
  const sections = [
    { id: 'events', title: 'Events', what: 'Event', bounded: cut(events) },
    { id: 'incidents', title: 'Incidents', what: 'incident', bounded: cut(incidents) },
  ];
  return sections.flatMap(({ id, title, what, bounded: { top, more } }) =>
    top.length === 0
      ? []
      : [
          {
            id,
            title,
            columns: ['reason', 'object', 'count', 'first', 'last', 'message'],
            rows: top.map(({ reason, object, count, first, last, message }) => [
              reason,
              object,
              count,
              timeText(first),
              timeText(last),
              message,
            ]),
            more: moreText(more, what),
            empty: '',
          },
        ],
  );
}

const pairColumns = ['source', 'destination', 'service', 'outcome', 'packets', 'first', 'last', 'rule'] as const;

function pairRow({ from, to, service, action, packets, first, last, rule, rules }: Pair): Cell[] {
  return [
    from,
    to,
    service,
    action,
    packets,
    timeText(first),
    timeText(last),
    rules > 1 ? `${rule} and ${rules - 1} more` : rule,
  ];
}

const rankingTitles: Record<RankingName, string> = {
  from: 'Sources',
  to: 'Destinations',
  service: 'Services',
  rule: 'Rules',
  node: 'Nodes',
};

function rankingSection(id: string, title: string, { top, others }: Ranking, sum: number): Section {
  const share = (packets: number): string => (sum === 0 ? '' : `${((packets / sum) * 100).toFixed(1)}%`);
  return {
    id,
    title,
    columns: ['name', 'packets', 'share'],
    rows: top.map(({ name, packets }: Count) => [name, packets, share(packets)]),
    more: others.names > 0 ? `${numberText(others.names)} more with ${countText(others.packets, 'packet')}` : undefined,
    empty: 'No packets.',
  };
}

function changeSection(id: string, title: string, { top, more }: Bounded<Pair>, empty: string): Section {
  return { id, title, columns: pairColumns, rows: top.map(pairRow), more: moreText(more, 'pair'), empty };
}
