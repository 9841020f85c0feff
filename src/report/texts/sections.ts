/** The lists of a report. Each is described once, by its columns; table, Markdown and page print it in their way. */
import {
  type Bounded,
  type Gap,
  type Pair,
  type PolicySum,
  type RankingName,
  rankings,
  type Report,
  type ReportedEvent,
  type Scan,
} from '../model.ts';
import { countText, numberText, timeText } from './plain.ts';

/** A number is printed in its column, right-aligned. A string may be a stranger's: an output escapes it. */
export type Cell = string | number;

/** The kind of a column's values, by which the page shows them. */
type Kind = 'name' | 'outcome' | 'share' | 'message' | 'time';

export interface Column {
  name: string;
  kind?: Kind;
}

interface ColumnOf<Row> extends Column {
  cell: (row: Row) => Cell;
}

export interface Section {
  id: string;
  title: string;
  /** A note for the reader; in words of this program only. */
  lead?: string | undefined;
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  /** Says what is left out. */
  more: string | undefined;
  /** Instead of rows where there are none. */
  empty: string;
}

/** A list before it is cut: `what` names one of its rows. */
interface List<Row> extends Pick<Section, 'id' | 'title' | 'lead' | 'empty'> {
  what: string;
  columns: readonly ColumnOf<Row>[];
  bounded: Bounded<Row>;
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
  { name: 'hours', cell: ({ hours }) => hours },
  packets,
  ...times,
];

const gapColumns: readonly ColumnOf<Gap>[] = [
  { name: 'node', cell: ({ node }) => node },
  { name: 'lost by', cell: ({ reason }) => reason },
  { name: 'intervals', cell: ({ intervals }) => intervals },
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

/** Numbers stand on the right. */
export function isNumeric({ rows }: Pick<Section, 'rows'>, place: number): boolean {
  return typeof rows[0]?.[place] === 'number';
}

/** `most`: rows of each section at most. */
export function sectionsOf(report: Report, most: number): Section[] {
  const { top, policies, scans, gaps, changes, pairs } = report;
  function section<Row>({ id, title, lead, empty, what, columns, bounded }: List<Row>): Section {
    const rows = bounded.top.slice(0, most).map((row) => columns.map(({ cell }) => cell(row)));
    const more = bounded.more + bounded.top.length - rows.length;
    return { id, title, lead, columns, rows, more: more > 0 ? countText(more, `more ${what}`) : undefined, empty };
  }
  const ofPairs = (id: string, title: string, bounded: Bounded<Pair>, empty: string): Section =>
    section({ id, title, bounded, empty, what: 'pair', columns: pairColumns });
  const ofPolicies = (id: string, title: string, bounded: Bounded<PolicySum>, empty: string, lead?: string): Section =>
    section({ id, title, bounded, empty, lead, what: 'row', columns: policyColumns });
  const ofEvents = (id: string, title: string, bounded: Bounded<ReportedEvent>, what: string): Section[] =>
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
    ofPairs('top', 'Most packets', { ...top, more: pairs - top.top.length }, 'No packets.'),
    ofPolicies('policies', 'By policy', policies, 'No packets.', byPolicy),
    ...rankings.map((name) => rankingSection(name, report)),
    section({
      id: 'scans',
      title: 'Scans',
      lead: 'Sources that were denied by more than 8 destinations within an hour.',
      columns: scanColumns,
      bounded: scans,
      what: 'source',
      empty: 'No source was denied by more than 8 destinations within an hour.',
    }),
    section({
      id: 'gaps',
      title: 'Gaps',
      lead: 'Intervals in which records of a log were lost or suppressed.',
      columns: gapColumns,
      bounded: gaps,
      what: 'row',
      empty: 'No loss is known: the counts are exact.',
    }),
    ...ofEvents('events', 'Events', report.events, 'Event'),
    ...ofEvents('incidents', 'Incidents', report.incidents, 'incident'),
  ];
}

function rankingSection(ranking: RankingName, { rankings: all, extent }: Report): Section {
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
