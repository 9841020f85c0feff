/** The time line and the graph. They illustrate what the tables have; texts in them are drawn, never HTML. */
import { BarChart, GraphChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import type { Mark, PageData } from '../row-format.ts';
import { colour, drawn } from './drawing.ts';
import { graphOption } from './graph.ts';
import { element, numberText, timeText } from './page-data.ts';
import { type Chip } from './selection.ts';
import { timeChip } from './rows-table.ts';

echarts.use([
  BarChart,
  GraphChart,
  GridComponent,
  LegendComponent,
  MarkAreaComponent,
  TooltipComponent,
  CanvasRenderer,
]);

type Show = (chips: readonly Chip[]) => void;

const known = new Set(['dropped', 'rejected', 'logged', 'accepted']);

export interface Charts {
  /** Again, in the colours of the theme. */
  draw: () => void;
}

export function createCharts(data: PageData, show: Show): Charts {
  const time = data.timeLine === undefined ? undefined : echarts.init(element('time-chart'));
  const graph = data.edges.length === 0 ? undefined : echarts.init(element('graph'));
  if (time === undefined) element('time').hidden = true;
  if (graph === undefined) element('graph-section').hidden = true;
  time?.on('click', ({ dataIndex }) => {
    const { start, step } = data.timeLine ?? { start: 0, step: 0 };
    show([timeChip(start + dataIndex * step, start + (dataIndex + 1) * step)]);
  });
  graph?.on('click', ({ dataType, data: item }) => {
    const { source, target, name } = item as { source?: string; target?: string; name?: string };
    if (dataType === 'edge' && source !== undefined && target !== undefined)
      show([
        { id: 'from', label: `from ${source}`, column: 'from', names: [source] },
        { id: 'to', label: `to ${target}`, column: 'to', names: [target] },
      ]);
    else if (name !== undefined) show([{ id: 'from', label: `from ${name}`, column: 'from', names: [name] }]);
  });
  addEventListener('resize', () => {
    time?.resize();
    graph?.resize();
  });
  const draw = (): void => {
    if (time !== undefined && data.timeLine !== undefined) time.setOption(timeOption(data.timeLine, data.marks), true);
    graph?.setOption(graphOption(data.edges), true);
  };
  draw();
  describeTime(data);
  return { draw };
}

function timeOption(
  { start, step, series }: NonNullable<PageData['timeLine']>,
  marks: PageData['marks'],
): echarts.EChartsCoreOption {
  const length = series[0]?.packets.length ?? 0;
  const times = Array.from({ length }, (_, interval) => start + interval * step);
  const place = (at: number): number => Math.min(length - 1, Math.max(0, Math.floor((at - start) / step)));
  const areas = (['gap', 'scan', 'incident'] as const).flatMap((kind) =>
    spansOf(
      marks
        .filter((mark) => mark.kind === kind)
        .map(({ first, last }) => [place(first), place(Math.max(first, last - 1))]),
    ).map(([first, last]) => [
      { xAxis: first, itemStyle: { color: colour(`mark-${kind}`) }, ...lanes[kind]?.[0] },
      { xAxis: last, ...lanes[kind]?.[1] },
    ]),
  );
  const ink = colour('muted');
  return {
    animation: false,
    textStyle: { fontFamily: 'inherit' },
    grid: { left: 56, right: 12, top: 44, bottom: 28 },
    legend: { top: 0, left: 0, textStyle: { color: colour('ink') }, itemWidth: 12, itemHeight: 12 },
    tooltip: {
      trigger: 'axis',
      renderMode: 'richText',
      backgroundColor: colour('surface'),
      borderColor: colour('line'),
      textStyle: { color: colour('ink') },
      formatter: (items: unknown) => {
        const list = items as { dataIndex: number; seriesName: string; value: number }[];
        const at = times[list[0]?.dataIndex ?? 0] ?? 0;
        const within = marks.filter(({ first, last }) => first < at + step && last >= at).slice(0, 5);
        const counts = list
          .filter(({ value }) => value > 0)
          .map(({ seriesName, value }) => `${numberText(value)} ${drawn(seriesName)}`);
        return [
          `${timeText(at)} UTC`,
          ...(counts.length > 0 ? counts : ['no packets']),
          ...within.map(({ text }) => drawn(text, 80)),
        ].join('\n');
      },
    },
    xAxis: {
      type: 'category',
      data: times.map((at) => timeText(at).slice(5)),
      axisLabel: { color: ink, hideOverlap: true },
      axisLine: { lineStyle: { color: colour('line') } },
      axisTick: { show: false },
    },
    yAxis: {
      type: 'value',
      axisLabel: {
        color: ink,
        formatter: (value: number) => new Intl.NumberFormat('en', { notation: 'compact' }).format(value).toLowerCase(),
      },
      splitLine: { lineStyle: { color: colour('line') } },
    },
    series: series.map(({ action, packets }, index) => ({
      type: 'bar',
      stack: 'packets',
      name: drawn(action),
      data: packets,
      barCategoryGap: '12%',
      itemStyle: { color: colour(known.has(action) ? action : 'other') },
      ...(index === 0 ? { markArea: { silent: true, label: { show: false }, data: areas } } : {}),
    })),
  };
}

/** Gaps are behind the bars; scans and incidents have a strip each above them, in pixels. */
const lanes: Partial<Record<Mark['kind'], readonly [{ y: number }, { y: number }]>> = {
  scan: [{ y: 34 }, { y: 38 }],
  incident: [{ y: 28 }, { y: 32 }],
};

/** Spans of places, joined where they meet. */
function spansOf(places: readonly (readonly [number, number])[]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [first, last] of places.toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** The marks in words, for whoever sees no picture. */
function describeTime({ timeLine, marks }: PageData): void {
  if (timeLine === undefined) return;
  const count = (kind: string): number => marks.filter((mark) => mark.kind === kind).length;
  const sums = (timeLine.series[0]?.packets ?? []).map((_, interval) =>
    timeLine.series.reduce((sum, { packets }) => sum + (packets[interval] ?? 0), 0),
  );
  const most = sums.indexOf(Math.max(...sums));
  const marked = [
    ['gap', 'grey: records were lost', count('gap')],
    ['scan', 'blue: a scan', count('scan')],
    ['incident', 'violet: an incident', count('incident')],
  ] as const;
  const listed = marked.filter(([, , number]) => number > 0).map(([, what, number]) => `${what} (${number})`);
  element('time-text').textContent =
    `Most packets: ${numberText(sums[most] ?? 0)} at ${timeText(timeLine.start + most * timeLine.step)} UTC.` +
    (listed.length > 0 ? ` Marked ${listed.join(', ')}.` : '');
  element('time-chart').setAttribute('role', 'img');
  element('time-chart').setAttribute('aria-label', 'Packets over time by outcome');
  element('graph').setAttribute('role', 'img');
  element('graph').setAttribute(
    'aria-label',
    'Graph of the pairs with most packets; the list of most packets has them all',
  );
}
