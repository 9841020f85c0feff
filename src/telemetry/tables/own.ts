import type { MetricRow } from '../metric-row.ts';

/** The program's own settings and state. */
export const own = {
  configReloads: {
    type: 'counter',
    name: 'config_reloads_total',
    labels: { result: ['ok', 'failed'] },
    help: 'Changes of the config file that were followed, or refused.',
  },
  configInForce: {
    type: 'gauge',
    name: 'config_in_force',
    labels: {},
    help: '1 while what the config file says holds, and where there is none; 0: it is wrong, cannot be read, or needs a restart.',
  },
  stateSaved: {
    type: 'gauge',
    name: 'state_saved_timestamp_seconds',
    labels: {},
    help: 'When the snapshot of counts and positions was last saved (Unix time); 0: not yet.',
  },
  stateSize: { type: 'gauge', name: 'state_size_bytes', labels: {}, help: 'Size of the last snapshot.' },
  stateErrors: {
    type: 'counter',
    name: 'state_errors_total',
    labels: { operation: 'what was done with the snapshot: load, save' },
    help: 'Failures to read or write the snapshot.',
  },
  buildInfo: {
    type: 'gauge',
    name: 'build_info',
    labels: { version: 'of the program', node_version: 'of Node.js' },
    help: 'Always 1; the labels tell what is running.',
  },
} as const satisfies Record<string, MetricRow>;
