import { prefix } from '../../telemetry/metric-table.ts';

/** One value of a scrape. */
export interface Sample {
  name: string;
  labels: Readonly<Record<string, string>>;
  value: number;
}

/** `name{label="value",…} value`; what is no such line is passed over (Prometheus text format 0.0.4). */
export function readMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)(?: -?\d+)?$/.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', raw = '']) => [
      key,
      raw.replace(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** Values of one metric of ours. */
export function valuesOf(samples: readonly Sample[], name: string): Sample[] {
  return samples.filter((sample) => sample.name === prefix + name);
}

/** Those that are not 0. */
export function present(samples: readonly Sample[], name: string): Sample[] {
  return valuesOf(samples, name).filter(({ value }) => value !== 0);
}

export function total(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}
