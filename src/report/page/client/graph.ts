/** Who sends most to whom, in a circle. */
import type * as echarts from 'echarts/core';
import type { PageData } from '../row-format.ts';
import { colour, drawn } from './drawing.ts';
import { numberText } from './page-data.ts';

export function graphOption(edges: PageData['edges']): echarts.EChartsCoreOption {
  const sums = new Map<string, number>();
  for (const { from, to, packets } of edges)
    for (const name of [from, to]) sums.set(name, (sums.get(name) ?? 0) + packets);
  const [most, mostOfEdge] = [Math.max(...sums.values()), Math.max(...edges.map(({ packets }) => packets))];
  return {
    animation: false,
    tooltip: {
      renderMode: 'richText',
      backgroundColor: colour('surface'),
      textStyle: { color: colour('ink') },
      formatter: edgeText,
    },
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
  const { dataType, data } = item as {
    dataType: string;
    data: { source?: string; target?: string; name?: string; value: number };
  };
  const name =
    dataType === 'edge'
      ? `${drawn(data.source ?? '', 80)} → ${drawn(data.target ?? '', 80)}`
      : drawn(data.name ?? '', 80);
  return `${name}\n${numberText(data.value)} packets`;
}

/** By the logarithm: a few have nearly all packets. */
function share(value: number, most: number): number {
  return Math.log(value + 1) / Math.log(most + 1);
}
