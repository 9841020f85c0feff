import { type EChartsOption, init } from 'echarts';
import type { Results } from './measurements.ts';

const [width, panelHeight, gap, top, left] = [900, 130, 46, 56, 70];
/** Points of a line: more than that are not seen. */
const columns = 200;

interface Panel {
  title: string;
  color: string;
  values: Float64Array;
  /** Drawn as a line of its own. */
  limit?: number;
}

/** An SVG of what happened at the API server, second by second; each point is the largest of its seconds. The same results give the same picture. */
export function chart(title: string, { writes, reads, cpu, events }: Results, writeLimit: number): string {
  const panels: Panel[] = [
    { title: 'writes a second', color: '#c2410c', values: writes, limit: writeLimit },
    { title: 'reads a second', color: '#1d4ed8', values: reads },
    { title: 'CPU of the API server, cores', color: '#15803d', values: cpu.map((millis) => millis / 1000) },
    { title: 'Events in etcd', color: '#6d28d9', values: events },
  ];
  const height = top + panels.length * (panelHeight + gap);
  const drawing = init(null, null, { renderer: 'svg', ssr: true, width, height });
  drawing.setOption(optionOf(title, panels));
  const svg = drawing.renderToSVGString();
  drawing.dispose();
  // Names in it are numbered through all drawings of a process.
  const names = new Map<string, string>();
  return `${svg.replaceAll(/\bzr\d+-[a-z]+-?\d+\b/g, (name) => named(name, names))}\n`;
}

function named(name: string, names: Map<string, string>): string {
  const known = names.get(name) ?? `chart-${names.size}`;
  names.set(name, known);
  return known;
}

function optionOf(title: string, panels: readonly Panel[]): EChartsOption {
  const text = { fontFamily: 'sans-serif', color: '#374151' };
  const minutes = (panels[0]?.values.length ?? 0) / 60;
  return {
    animation: false,
    backgroundColor: '#ffffff',
    title: [
      { text: title, left: 'center', top: 8, textStyle: { ...text, fontSize: 16 } },
      ...panels.map((panel, index) => ({
        text: panel.title,
        left,
        top: topOf(index) - 22,
        padding: 0,
        textStyle: { ...text, fontSize: 12, color: panel.color },
      })),
    ],
    grid: panels.map((_, index) => ({ left, right: 30, top: topOf(index), height: panelHeight })),
    xAxis: panels.map((_, index) => ({
      type: 'value' as const,
      gridIndex: index,
      min: 0,
      max: minutes > 180 ? minutes / 60 : minutes,
      axisLabel: { ...text, formatter: minutes > 180 ? '{value} h' : '{value} min', hideOverlap: true },
      splitLine: { show: false },
    })),
    yAxis: panels.map(({ limit, values }, index) => ({
      type: 'value' as const,
      gridIndex: index,
      min: 0,
      // The limit is to be seen.
      ...(limit !== undefined && largest(values) < limit ? { max: limit } : {}),
      axisLabel: text,
      splitNumber: 3,
      splitLine: { lineStyle: { color: '#e5e7eb' } },
    })),
    series: panels.map(({ color, values, limit }, index) => ({
      type: 'line' as const,
      xAxisIndex: index,
      yAxisIndex: index,
      data: samplesOf(values, minutes > 180 ? 3600 : 60),
      showSymbol: false,
      silent: true,
      emphasis: { disabled: true },
      lineStyle: { color, width: 1 },
      areaStyle: { color, opacity: 0.15 },
      ...(limit === undefined ? {} : { markLine: limitLine(limit) }),
    })),
  };
}

function limitLine(limit: number): object {
  return {
    silent: true,
    symbol: 'none',
    label: { show: false },
    lineStyle: { color: '#9ca3af', type: 'dashed' },
    data: [{ yAxis: limit }],
  };
}

function topOf(index: number): number {
  return top + 26 + index * (panelHeight + gap);
}

function samplesOf(values: Float64Array, unit: number): [number, number][] {
  const size = Math.max(1, Math.ceil(values.length / columns));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, index) => {
    const most = largest(values.subarray(index * size, (index + 1) * size));
    return [Number(((index * size) / unit).toFixed(3)), Number(most.toFixed(3))];
  });
}

function largest(values: Float64Array): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}
