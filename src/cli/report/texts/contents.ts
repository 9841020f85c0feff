/** Makes the summary and the lists of a report, which table, Markdown and page print in their own formats. */
import {
  type AuditReport,
  type RecordTotals,
  type Gap,
  type Pair,
  type PolicySum,
  type RankingName,
  rankings,
  type ReportedEvent,
  type Scan,
  type TopList,
} from '../model.ts';
import { countText, durationText, numberText, timeText } from './plain.ts';

export function reportFacts(report: AuditReport): [string, string][] {
  const { policy, extent, actions, atLeast, clusters, nodes, pairs, changes } = report;
  const facts: [string, string | undefined][] = [
    ['Policy', policy.length > 0 ? `only records that name ${policy.join(' or ')}` : undefined],
    ['Period', periodText(extent)],
    ['Packets', `${atLeast ? 'at least ' : ''}${numberText(extent.packets)}`],
    ['Outcome', actions.map(({ name, packets }) => `${numberText(packets)} ${name}`).join(', ') || undefined],
    ['Flow records', numberText(extent.records)],
    ['Pairs', pairs > 0 ? `${numberText(pairs)} (source, destination and service)` : undefined],
    ['Nodes', nodes > 0 ? numberText(nodes) : undefined],
    [
      'Clusters',
      clusters.length > 0 ? clusters.slice(0, 5).join(', ') + (clusters.length > 5 ? ', …' : '') : undefined,
    ],
    ['Baseline', changes && `${periodText(changes.baseline)}; ${countText(changes.baseline.packets, 'packet')}`],
  ];
  return facts.filter((fact): fact is [string, string] => fact[1] !== undefined);
}

function periodText({ first, last }: RecordTotals): string {
  if (first === undefined || last === undefined) return 'no records';
  return `${timeText(first)} to ${timeText(last)} UTC (${durationText(last - first)})`;
}

/** Outputs align numbers to the right, and escape strings, because anyone may have written them. */
export type Cell = string | number;

export interface Column {
  name: string;
  /** How the page shows its values. */
  kind?: 'name' | 'outcome' | 'share' | 'message' | 'time';
}

interface ColumnOf<Row> extends Column {
  cell: (row: Row) => Cell;
}

export interface Section {
  id: string;
  title: string;
  lead?: string | undefined;
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  /** Says how many rows are left out; undefined if no row is left out. */
  more: string | undefined;
  empty: string;
}

/** A list before its rows are cut. `what`: the word for one row. */
interface List<Row> extends Pick<Section, 'id' | 'title' | 'lead' | 'empty'> {
  what: string;
  columns: readonly ColumnOf<Row>[];
  bounded: TopList<Row>;
}

const times = [
  { name: 'first', kind: 'time', cell: ({ first }) => timeText(first) },
  { name: 'last', kind: 'time', cell: ({ last }) => timeText(last) },
] as const satisfies ColumnOf<{ first: number; last: number }>[];
const packets: ColumnOf<{ packets: number }> = { name: 'packets', cell: (row) => row.packets };

const pairColumns: readonly ColumnOf<Pair>[] = [
  { name: 'source', kind: 'name', cell: ({ from }) => from },
  { name: 'destination', kind: 'name', cell: ({ to }) => to },
  { name: 'service', cell: ({ service }) => service },
  { name: 'outcome', kind: 'outcome', cell: ({ action }) => action },
  packets,
  ...times,
  { name: 'rule', kind: 'name', cell: ({ rule, rules }) => (rules > 1 ? `${rule} and ${rules - 1} more` : rule) },
];

const policyColumns: readonly ColumnOf<PolicySum>[] = [
  { name: 'policy', kind: 'name', cell: ({ policy }) => policy },
  { name: 'verdict', cell: ({ verdict }) => verdict },
  packets,
  { name: 'pairs', cell: ({ pairs }) => pairs },
  {
    name: 'Namespaces',
    cell({ namespaces, topNamespaces }) {
      const others = namespaces - topNamespaces.length;
      return topNamespaces.join(', ') + (others > 0 ? ` and ${numberText(others)} more` : '');
    },
  },
  ...times,
];

const scanColumns: readonly ColumnOf<Scan>[] = [
  { name: 'source', kind: 'name', cell: ({ from }) => from },
  { name: 'destinations', cell: ({ destinations }) => destinations },
  { name: 'ports', cell: ({ ports }) => ports },
  { name: 'hours', cell: ({ hours }) => hours },
  packets,
  ...times,
];

const gapColumns: readonly ColumnOf<Gap>[] = [
  { name: 'node', cell: ({ node }) => node },
  { name: 'lost by', cell: ({ reason }) => reason },
  { name: 'gaps', cell: ({ intervals }) => intervals },
  { name: 'records', cell: ({ lost }) => (lost > 0 ? lost : 'unknown') },
  ...times,
];

const eventColumns: readonly ColumnOf<ReportedEvent>[] = [
  { name: 'reason', cell: ({ reason }) => reason },
  { name: 'object', cell: ({ object }) => object },
  { name: 'count', cell: ({ count }) => count },
  ...times,
  { name: 'message', kind: 'message', cell: ({ message }) => message },
];

const rankingTitles: Record<RankingName, string> = {
  from: 'Sources',
  to: 'Destinations',
  service: 'Services',
  rule: 'Rules',
  node: 'Nodes',
};

export function isNumeric({ rows }: Pick<Section, 'rows'>, place: number): boolean {
  return typeof rows[0]?.[place] === 'number';
}

export function sectionsOf(report: AuditReport, mostRows: number): Section[] {
  const { top, policies, scans, gaps, changes } = report;
  function section<Row>({ id, title, lead, empty, what, columns, bounded }: List<Row>): Section {
    const rows = bounded.top.slice(0, mostRows).map((row) => columns.map(({ cell }) => cell(row)));
    const more = bounded.more + bounded.top.length - rows.length;
    return { id, title, lead, columns, rows, more: more > 0 ? countText(more, `more ${what}`) : undefined, empty };
  }
  const ofPairs = (id: string, title: string, bounded: TopList<Pair>, empty: string): Section =>
    section({ id, title, bounded, empty, what: 'pair', columns: pairColumns });
  const ofPolicies = (id: string, title: string, bounded: TopList<PolicySum>, empty: string, lead?: string): Section =>
    section({ id, title, bounded, empty, lead, what: 'row', columns: policyColumns });
  const ofEvents = (id: string, title: string, bounded: TopList<ReportedEvent>, what: string): Section[] =>
    bounded.top.length === 0 ? [] : [section({ id, title, bounded, empty: '', what, columns: eventColumns })];
  const changed = changes && [
    ofPairs('appeared', 'New since the baseline', changes.appeared, 'Nothing that the baseline did not have.'),
    ofPairs('vanished', 'Gone since the baseline', changes.vanished, 'All that the baseline had is still there.'),
    ofPolicies(
      'policies-appeared',
      'Policies new since the baseline',
      changes.policies.appeared,
      'Each was in the baseline.',
    ),
    ofPolicies(
      'policies-vanished',
      'Policies gone since the baseline',
      changes.policies.vanished,
      'Each is still there.',
    ),
  ];
  const byPolicy =
    'What policies say of the packets, where records have it. A packet that several policies deny counts for each of them.';
  return [
    ...(changed ?? []),
    ofPairs('top', 'Most packets', top, 'No packets.'),
    ofPolicies('policies', 'By policy', policies, 'No packets.', byPolicy),
    ...rankings.map((name) => rankingSection(name, report)),
    section({
      id: 'scans',
      title: 'Scans',
      lead: 'Sources that were denied by more than 8 destinations, or at 16 or more ports of one destination, within an hour.',
      columns: scanColumns,
      bounded: scans,
      what: 'source',
      empty: 'No source was denied by so many destinations or ports.',
    }),
    section({
      id: 'gaps',
      title: 'Gaps',
      lead: 'Times in which records of a node were lost or suppressed.',
      columns: gapColumns,
      bounded: gaps,
      what: 'row',
      empty: 'No loss is known: the counts are exact.',
    }),
    ...ofEvents('events', 'Events', report.events, 'Event'),
    ...ofEvents('incidents', 'Incidents', report.incidents, 'incident'),
  ];
}

function rankingSection(ranking: RankingName, { rankings: all, extent }: AuditReport): Section {
  const { top, others } = all[ranking];
  const share = (of: number): string => (extent.packets === 0 ? '' : `${((of / extent.packets) * 100).toFixed(1)}%`);
  return {
    id: `ranking-${ranking}`,
    title: rankingTitles[ranking],
    columns: [{ name: 'name', kind: 'name' }, packets, { name: 'share', kind: 'share' }],
    rows: top.map(({ name, packets: of }) => [name, of, share(of)]),
    more: others.names > 0 ? `${numberText(others.names)} more with ${countText(others.packets, 'packet')}` : undefined,
    empty: 'No packets.',
  };
}
