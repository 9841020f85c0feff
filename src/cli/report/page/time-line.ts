/**
 * Draws the time line as SVG, which needs no script and has the colours of the theme: bars by outcome, grey intervals with lost records, and
 * strips above the bars for scans and incidents.
 */
import { readGapIntervals } from '../aggregate/time-line.ts';
import type { Engine } from '../engine.ts';
import type { AuditReport, TimeLine } from '../model.ts';
import { countText, numberText, secondText, timeText } from '../texts/plain.ts';
import { classOf, outcomes, shortNumber, htmlText } from './html.ts';

/** Marks the intervals of a scan or an incident; `first` and `last` are their indexes. */
interface Strip {
  kind: 'scan' | 'incident';
  first: number;
  last: number;
  about: string;
}

interface Interval {
  at: number;
  /** The packets of each class of outcomes (`classOf`). */
  packets: Map<string, number>;
  sum: number;
  hasGap: boolean;
}

/** An SVG for a screen that is about as wide as it, in pixels: shrunk, its labels could not be read. */
interface Drawing {
  name: 'wide' | 'narrow';
  width: number;
  /** The most labels of times. */
  times: number;
}
const drawings: readonly Drawing[] = [
  { name: 'wide', width: 1160, times: 10 },
  { name: 'narrow', width: 330, times: 2 },
];
const [height, left, top, bottom] = [250, 52, 16, 24];
/** A single interval is a bar, not a block. */
const widestColumn = 48;
/** Of a time with its seconds. */
const labelWidth = 96;
const floor = height - bottom;
const strips = { incident: { y: 2, name: 'violet: incidents' }, scan: { y: 8, name: 'blue: scans' } };

export async function timeLineHtml(engine: Engine, report: AuditReport): Promise<string> {
  const { timeLine } = report;
  if (timeLine === undefined) return '<p class="empty">No packets.</p>';
  const intervals = intervalsOf(timeLine, new Set(await readGapIntervals(engine, timeLine)));
  const marks = stripsOf(report, timeLine);
  const most = roundUp(Math.max(...intervals.map(({ sum }) => sum)));
  const textOf = timeLine.step % minute === 0 ? timeText : secondText;
  const pictures = drawings.map((drawing) => svgOf(drawing, { intervals, marks, most, textOf }));
  return `<p class="lead">${legendHtml(intervals)}</p>
${pictures.join('\n')}
<p class="more">${htmlText(summaryOf(intervals, marks, textOf))}</p>`;
}

const minute = 60_000;

/** The input of the drawing. `textOf`: a time, as exactly as the step is. */
interface Scene {
  intervals: readonly Interval[];
  marks: readonly Strip[];
  most: number;
  textOf: (time: number) => string;
}

function svgOf({ name, width, times }: Drawing, { intervals, marks, most, textOf }: Scene): string {
  const column = Math.min(widestColumn, (width - left) / intervals.length);
  const bars = intervals.map((interval, index) => {
    const within = marks.filter(({ first, last }) => first <= index && index <= last);
    // Only a mouse shows titles.
    const title = name === 'wide' ? titleHtml(interval, within, textOf) : '';
    return barHtml(interval, left + index * column, column, most, title);
  });
  const drawn = marks.map(
    ({ kind, first, last }) =>
      `<rect class="${kind}" x="${left + first * column}" y="${strips[kind].y}" width="${(last - first + 1) * column}" height="4"/>`,
  );
  const labels = timesHtml(intervals, column, times, textOf);
  return `<svg class="time-line ${name}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Packets over time by outcome">${gridHtml(most, width)}${bars.join('')}${drawn.join('')}${labels}</svg>`;
}

function intervalsOf({ start, step, series }: TimeLine, gaps: ReadonlySet<number>): Interval[] {
  return (series[0]?.packets ?? []).map((_, index) => {
    const packets = new Map<string, number>();
    for (const { action, packets: all } of series) {
      const [outcome, count] = [classOf(action), all[index] ?? 0];
      if (count > 0) packets.set(outcome, count + (packets.get(outcome) ?? 0));
    }
    const sum = packets.values().reduce((a, b) => a + b, 0);
    return { at: start + index * step, packets, sum, hasGap: gaps.has(index) };
  });
}

function stripsOf({ scans, incidents }: AuditReport, { start, step, series }: TimeLine): Strip[] {
  const length = series[0]?.packets.length ?? 0;
  const isShown = (mark: { first: number; last: number }): boolean =>
    mark.last >= start && mark.first < start + length * step;
  const placeOf = (time: number): number => Math.min(length - 1, Math.max(0, Math.floor((time - start) / step)));
  return [
    ...scans.top.filter(isShown).map(({ from, destinations, first, last }): Strip => {
      const about = `Scan: ${from}, ${countText(destinations, 'destination')}`;
      return { kind: 'scan', first: placeOf(first), last: placeOf(last), about };
    }),
    ...incidents.top.filter(isShown).map(({ reason, object, first, last }): Strip => {
      return { kind: 'incident', first: placeOf(first), last: placeOf(last), about: `${reason} on ${object}` };
    }),
  ];
}

function barHtml({ packets, hasGap }: Interval, x: number, column: number, most: number, title: string): string {
  let y = floor;
  const parts = [...packets].map(([outcome, count]) => {
    const size = (count / most) * (floor - top);
    y -= size;
    return rect(outcome, x, y, column * 0.88, size);
  });
  return `<g class="interval">${title}${rect(hasGap ? 'gap' : 'none', x, top, column, floor - top)}${parts.join('')}</g>`;
}

function titleHtml({ at, packets, sum, hasGap }: Interval, marks: readonly Strip[], textOf: Scene['textOf']): string {
  const about = [
    `${textOf(at)} UTC`,
    ...(sum > 0 ? [...packets].map(([outcome, count]) => `${numberText(count)} ${outcome}`) : ['no packets']),
    ...(hasGap ? ['Records were lost'] : []),
    ...marks.slice(0, 5).map((mark) => mark.about.slice(0, 80)),
  ];
  return `<title>${about.map(htmlText).join('\n')}</title>`;
}

function rect(name: string, x: number, y: number, wide: number, high: number): string {
  return `<rect class="${name}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${wide.toFixed(1)}" height="${high.toFixed(1)}"/>`;
}

function gridHtml(most: number, width: number): string {
  const lines = [0, most / 2, most].map((value) => {
    const y = floor - (value / most) * (floor - top);
    return `<path d="M${left} ${y}H${width}"/><text class="end" x="${left - 8}" y="${y + 4}">${shortNumber(value)}</text>`;
  });
  return lines.join('');
}

function timesHtml(intervals: readonly Interval[], column: number, most: number, textOf: Scene['textOf']): string {
  const every = Math.max(Math.ceil(intervals.length / most), Math.ceil(labelWidth / column));
  return intervals
    .map(({ at }, index) =>
      index % every === 0
        ? `<text x="${(left + index * column).toFixed(1)}" y="${height - 6}">${textOf(at).slice(5)}</text>`
        : '',
    )
    .join('');
}

function legendHtml(intervals: readonly Interval[]): string {
  const shown = [...outcomes, 'other'].filter((each) => intervals.some(({ packets }) => packets.has(each)));
  return `Packets by outcome: ${shown.map((each) => `<span class="outcome ${each}">${each}</span>`).join(' ')}<span class="needs-script" hidden>. A click on a bar shows its records.</span>`;
}

function summaryOf(intervals: readonly Interval[], marks: readonly Strip[], textOf: Scene['textOf']): string {
  const most = intervals.reduce((a, b) => (b.sum > a.sum ? b : a));
  const gaps = intervals.filter(({ hasGap }) => hasGap).length;
  const listed = [
    ...(gaps > 0 ? [`grey: records were lost (${countText(gaps, 'interval')})`] : []),
    ...(['scan', 'incident'] as const).flatMap((kind) => {
      const count = marks.filter((mark) => mark.kind === kind).length;
      return count > 0 ? [`${strips[kind].name} (${count})`] : [];
    }),
  ];
  return `Most packets: ${numberText(most.sum)} at ${textOf(most.at)} UTC.${listed.length > 0 ? ` Marked ${listed.join(', ')}.` : ''}`;
}

/** Rounds up to the next of 1, 2, 5, 10, 20, … */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5].map((each) => each * power).find((each) => each >= value) ?? 10 * power;
}
