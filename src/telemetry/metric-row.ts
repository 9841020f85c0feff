/** Labels with all of their values, or with what these are. */
type Labels = Readonly<Record<string, readonly string[] | string>>;

/** The definition of a metric, for a scrape and for docs/metrics.md. */
export interface MetricRow<Type extends string = 'counter' | 'gauge' | 'histogram', Of extends Labels = Labels> {
  type: Type;
  /** Its name; `metricTable` leaves out the prefix that all have. */
  name: string;
  help: string;
  labels: Of;
  /** Upper bounds of a histogram. */
  buckets?: readonly number[];
}

export function counter<const Of extends Labels = {}>(
  name: string,
  help: string,
  labels?: Of,
): MetricRow<'counter', Of> {
  return { type: 'counter', name, help, labels: labels ?? ({} as Of) };
}

export function gauge<const Of extends Labels = {}>(name: string, help: string, labels?: Of): MetricRow<'gauge', Of> {
  return { type: 'gauge', name, help, labels: labels ?? ({} as Of) };
}

export function histogram<const Of extends Labels>(
  name: string,
  help: string,
  labels: Of,
  buckets: readonly number[] = [],
): MetricRow<'histogram', Of> {
  return { type: 'histogram', name, help, labels, buckets };
}
