import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { MetricRow } from './metric-row.ts';
import { prefix } from './metric-table.ts';

type Labels = Readonly<Record<string, string>>;

type LabelsOf<Row extends MetricRow> = {
  readonly [Name in keyof Row['labels']]: Row['labels'][Name] extends readonly string[]
    ? Row['labels'][Name][number]
    : string;
};
type Given<Row extends MetricRow> = keyof Row['labels'] extends never ? [] : [labels: LabelsOf<Row>];

interface CounterOf<Row extends MetricRow> {
  add: (count: number, ...labels: Given<Row>) => void;
  /** Shows a total that is counted elsewhere; for what is counted too often to be counted here (0.2 to 1 µs). */
  setTotal: (total: number, ...labels: Given<Row>) => void;
}

interface GaugeOf<Row extends MetricRow> {
  set: (value: number, ...labels: Given<Row>) => void;
}

interface HistogramOf<Row extends MetricRow> {
  observe: (value: number, ...labels: Given<Row>) => void;
}

export type MetricOf<Row extends MetricRow> = Row['type'] extends 'counter'
  ? CounterOf<Row>
  : Row['type'] extends 'gauge'
    ? GaugeOf<Row>
    : HistogramOf<Row>;

/** Combinations of label values that one metric shows. */
const limit = 256;

type AnyMetric = CounterOf<MetricRow> | GaugeOf<MetricRow> | HistogramOf<MetricRow>;

export function createMetric(row: MetricRow, registry: Registry): AnyMetric {
  const { type, help, buckets = [] } = row;
  const options = { name: prefix + row.name, help, labelNames: Object.keys(row.labels), registers: [registry] };
  const bounds = createBounds(row);
  switch (type) {
    case 'counter': {
      const counter = new Counter(options);
      for (const labels of combinationsOf(row)) counter.inc(labels, 0);
      return {
        add: (count: number, labels: Labels = {}) => counter.inc(bounds.admit(labels) ?? bounds.others, count),
        setTotal(total: number, given: Labels = {}) {
          const labels = bounds.admit(given);
          if (labels === undefined) return;
          counter.remove(labels);
          counter.inc(labels, total);
        },
      };
    }
    case 'gauge': {
      const gauge = new Gauge(options);
      return {
        set(value: number, given: Labels = {}) {
          const labels = bounds.admit(given);
          if (labels !== undefined) gauge.set(labels, value);
        },
      };
    }
    case 'histogram': {
      const histogram = new Histogram({ ...options, buckets: [...buckets] });
      return {
        observe: (value: number, labels: Labels = {}) =>
          histogram.observe(bounds.admit(labels) ?? bounds.others, value),
      };
    }
    default:
      return type satisfies never;
  }
}

/** Bounds the label values. Past the limit counters count under `other`, and gauges are left out rather than shown wrong. */
function createBounds({ labels }: MetricRow) {
  const names = Object.keys(labels);
  const seen = new Set<string>();
  return {
    admit(given: Labels): Labels | undefined {
      const key = JSON.stringify(names.map((name) => given[name]));
      if (seen.has(key)) return given;
      if (seen.size >= limit) return undefined;
      seen.add(key);
      return given;
    },
    others: Object.fromEntries(names.map((name) => [name, 'other'])) as Labels,
  };
}

/** A counter that is there from the start lets Prometheus see its first increase. Only where that is a handful. */
function combinationsOf({ labels }: MetricRow): Labels[] {
  const [[name, values] = ['', ''], ...more] = Object.entries(labels);
  return typeof values === 'string' || more.length > 0 ? [] : values.map((value) => ({ [name]: value }));
}
