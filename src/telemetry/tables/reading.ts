import type { MetricRow } from '../metric-row.ts';

const source = 'a source of lines';

/** What is read of the logs. */
export const reading = {
  lines: { type: 'counter', name: 'lines_total', labels: { source }, help: 'Lines read, relevant or not.' },
  readBytes: { type: 'counter', name: 'read_bytes_total', labels: { source }, help: 'Bytes of log read.' },
  lostRecords: {
    type: 'counter',
    name: 'lost_records_total',
    labels: { source },
    help: 'Log records that were overwritten or suppressed before they could be read.',
  },
  lostBytes: {
    type: 'counter',
    name: 'lost_bytes_total',
    labels: { source },
    help: 'Bytes of log that were truncated or deleted before they could be read.',
  },
  longLines: {
    type: 'counter',
    name: 'long_lines_total',
    labels: { source },
    help: 'Lines over 64 KiB, of which the rest was skipped.',
  },
  repeatedLines: {
    type: 'counter',
    name: 'repeated_lines_total',
    labels: {},
    help: "Lines of the kernel's log that another source had shown already, and that were not counted again.",
  },
  forgottenLines: {
    type: 'counter',
    name: 'forgotten_lines_total',
    labels: {},
    help: 'Lines that another source was to show, and that there was no room to wait for: they may be counted twice.',
  },
  sourceState: {
    type: 'gauge',
    name: 'source_state',
    labels: { source, state: ['waiting', 'reading', 'failed', 'stopped'] },
    help: '1 for the state that a source is in, 0 for the others.',
  },
  lastLine: {
    type: 'gauge',
    name: 'last_line_timestamp_seconds',
    labels: { source },
    help: 'When a line was last read, relevant or not (Unix time, good to five seconds); missing: none since the start.',
  },
} as const satisfies Record<string, MetricRow>;
