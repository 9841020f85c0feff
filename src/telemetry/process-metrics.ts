import { collectDefaultMetrics, type Registry } from 'prom-client';
import type { MetricRow } from './metric-row.ts';

/** What is kept of prom-client's own metrics; the others are five times as many, on each of thousands of nodes. */
export const processTable: readonly MetricRow[] = [
  row('counter', 'process_cpu_user_seconds_total', 'Processor time spent in the program.'),
  row('counter', 'process_cpu_system_seconds_total', 'Processor time spent in the kernel for the program.'),
  row('counter', 'process_cpu_seconds_total', 'Both together.'),
  row('gauge', 'process_start_time_seconds', 'When the program was started (Unix time).'),
  row('gauge', 'process_resident_memory_bytes', 'Memory in use.'),
  row('gauge', 'process_open_fds', 'Open file descriptors.'),
  row('gauge', 'process_max_fds', 'How many may be open.'),
  // The next two are set when this one is.
  row('gauge', 'nodejs_eventloop_lag_seconds', 'How long the event loop took to come round at the last scrape.'),
  row(
    'gauge',
    'nodejs_eventloop_lag_mean_seconds',
    'Time between two looks at the event loop since the last scrape; 0.1 when idle.',
  ),
  row('gauge', 'nodejs_eventloop_lag_max_seconds', 'The longest of them.'),
  row('gauge', 'nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.'),
  row('gauge', 'nodejs_heap_size_used_bytes', 'How much of it is in use.'),
  row('gauge', 'nodejs_external_memory_bytes', 'Memory that JavaScript objects hold outside the heap.'),
  {
    ...row('histogram', 'nodejs_gc_duration_seconds', 'Garbage collections.'),
    labels: { kind: ['minor', 'major', 'incremental', 'weakcb'] },
  },
];

/** Looking every 10 ms, prom-client's default, is 100 wake-ups a second: 0.5 % of a core instead of 0.05 %. */
const eventLoopMonitoringPrecision = 100;

export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision, gcDurationBuckets: [0.01, 0.1, 1] });
  const kept = new Set(processTable.map(({ name }) => name));
  for (const { name } of registry.getMetricsAsArray()) if (!kept.has(name)) registry.removeSingleMetric(name);
}

function row(type: MetricRow['type'], name: string, help: string): MetricRow {
  return { type, name, labels: {}, help };
}
