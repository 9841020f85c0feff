/** Draws the time line and the graph. Texts are drawn as pixels, and never become HTML. */
import { BarChart, GraphChart } from 'echarts/charts';
import { GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent } from 'echarts/components';
import * as echarts from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import type { Mark, PageData } from '../row-format.ts';
import { type Chip, element, numberText, timeText } from './records.ts';

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

/** Returns a function that redraws both charts in the colours of the theme. */
export function createCharts(data: PageData, show: Show): () => void {
  const time = data.timeLine === undefined ? undefined : echarts.init(element('time-chart'));
  const graph = data.edges.length === 0 ? undefined : echarts.init(element('graph'));
  if (time === undefined) element('time').hidden = true;
  if (graph === undefined) element('graph-section').hidden = true;
  time?.on('click', ({ dataIndex }) => {
    const { start, step } = data.timeLine ?? { start: 0, step: 0 };
    const span = [start + dataIndex * step, start + (dataIndex + 1) * step] as const;
    show([{ id: 'time', label: span.map(timeText).join(' to '), span }]);
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
  describe('time-chart', 'Packets over time by outcome');
  describe('graph', 'Graph of the pairs with most packets; the list of most packets has them all');
  describeMarks(data);
  return draw;
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
      ...tooltip(),
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

/** The heights of the marks above the bars, in pixels. Gaps are drawn behind the bars. */
const lanes: Partial<Record<Mark['kind'], readonly [{ y: number }, { y: number }]>> = {
  scan: [{ y: 34 }, { y: 38 }],
  incident: [{ y: 28 }, { y: 32 }],
};

/** Joins spans that meet. */
function spansOf(places: readonly (readonly [number, number])[]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [first, last] of places.toSorted(([a], [b]) => a - b)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

function describe(id: string, label: string): void {
  element(id).setAttribute('role', 'img');
  element(id).setAttribute('aria-label', label);
}

const markTexts = { gap: 'grey: records were lost', scan: 'blue: a scan', incident: 'violet: an incident' } as const;

/** Describes the marks in words, for readers who cannot see the chart. */
function describeMarks({ timeLine, marks }: PageData): void {
  if (timeLine === undefined) return;
  const sums = (timeLine.series[0]?.packets ?? []).map((_, interval) =>
    timeLine.series.reduce((sum, { packets }) => sum + (packets[interval] ?? 0), 0),
  );
  const most = sums.indexOf(Math.max(...sums));
  const counts = Map.groupBy(marks, ({ kind }) => kind);
  const listed = Object.entries(markTexts).flatMap(([kind, what]) => {
    const count = counts.get(kind as Mark['kind'])?.length ?? 0;
    return count > 0 ? [`${what} (${count})`] : [];
  });
  element('time-text').textContent =
    `Most packets: ${numberText(sums[most] ?? 0)} at ${timeText(timeLine.start + most * timeLine.step)} UTC.` +
    (listed.length > 0 ? ` Marked ${listed.join(', ')}.` : '');
}

/** Draws the graph: the ends in a circle, and lines between those with most packets. */
function graphOption(edges: PageData['edges']): echarts.EChartsCoreOption {
  const sums = new Map<string, number>();
  for (const { from, to, packets } of edges)
    for (const name of [from, to]) sums.set(name, (sums.get(name) ?? 0) + packets);
  const [most, mostOfEdge] = [Math.max(...sums.values()), Math.max(...edges.map(({ packets }) => packets))];
  return {
    animation: false,
    tooltip: { ...tooltip(), formatter: edgeText },
    series: [
      {
        type: 'graph',
        layout: 'circular',
        top: 130,
        bottom: 130,
        left: 150,
        right: 150,
        circular: { rotateLabel: true },
        roam: false,
        data: [...sums].map(([name, packets]) => ({
          name,
          value: packets,
          symbolSize: 4 + 14 * share(packets, most),
          itemStyle: { color: colour('accent') },
          label: {
            show: true,
            color: colour('ink'),
            fontSize: 11,
            formatter: drawn(name.replace(/^[A-Z]\w+ /, ''), 28),
          },
        })),
        links: edges.map(({ from, to, packets }) => ({
          source: from,
          target: to,
          value: packets,
          lineStyle: {
            width: 0.5 + 3 * share(packets, mostOfEdge),
            color: colour('edge'),
            curveness: 0.25,
            opacity: 0.6,
          },
        })),
        edgeSymbol: ['none', 'arrow'],
        edgeSymbolSize: 6,
        emphasis: { focus: 'adjacency' },
      },
    ],
  };
}

function edgeText(item: unknown): string {
  const { data } = item as { data: { source?: string; target?: string; name?: string; value: number } };
  const names = data.source === undefined ? [data.name] : [data.source, data.target];
  return `${names.map((name = '') => drawn(name, 80)).join(' → ')}\n${numberText(data.value)} packets`;
}

/** Scales by the logarithm, because a few values have nearly all packets. */
function share(value: number, most: number): number {
  return Math.log(value + 1) / Math.log(most + 1);
}

function tooltip() {
  return {
    renderMode: 'richText',
    backgroundColor: colour('surface'),
    borderColor: colour('line'),
    textStyle: { color: colour('ink') },
  };
}

/** Reads a colour from the style of an element, because each theme has its own. */
function colour(name: string): string {
  const { style } = element('graph');
  style.color = `var(--${name})`;
  return getComputedStyle(element('graph')).color;
}

/**
 * Makes a text safe for ECharts: braces would begin a style. ECharts also uses texts as keys of a plain object, so a text such as `__proto__` gets a
 * space.
 */
function drawn(text: string, most = 40): string {
  const short = (text.length > most ? `${text.slice(0, most - 1)}…` : text).replaceAll(/[{}|]/g, ' ');
  return short in {} ? `${short}\u00a0` : short;
}
