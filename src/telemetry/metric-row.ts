/** Values of a label: all of them, or what they are. */
type LabelValues = readonly string[] | string;

export interface MetricRow {
  type: 'counter' | 'gauge' | 'histogram';
  /** In `metricTable` without the prefix that all have. */
  name: string;
  labels: Readonly<Record<string, LabelValues>>;
  help: string;
  /** Upper bounds of a histogram. */
  buckets?: readonly number[];
}
