/** Labels, each with all its values, or with a text that describes them. */
type Labels = Readonly<Record<string, readonly string[] | string>>;

export interface MetricRow<Type extends string = 'counter' | 'gauge' | 'histogram', Of extends Labels = Labels> {
  type: Type;
  /** The name; in `metricTable` without the prefix that all metrics share. */
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
