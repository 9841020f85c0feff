import type { MetricRow } from '../metric-row.ts';

/** What the API server is told. */
export const publishing = {
  eventWrites: {
    type: 'counter',
    name: 'event_writes_total',
    labels: {
      verb: ['create', 'update', 'read'],
      result: [
        'ok',
        'conflict',
        'gone',
        'forbidden',
        'denied',
        'invalid',
        'terminating',
        'throttled',
        'unavailable',
        'unauthorized',
        'failed',
        'foreign',
      ],
    },
    help: 'Attempts to write an Event, and how they ended.',
  },
  eventsAbandoned: {
    type: 'counter',
    name: 'events_abandoned_total',
    labels: { reason: 'how the last attempt to write it ended' },
    help: 'Events given up, because trying again would not help.',
  },
  eventPacketsPublished: {
    type: 'counter',
    name: 'event_packets_published_total',
    labels: {},
    help: 'Lost packets that the API server was told of.',
  },
  lastEvent: {
    type: 'gauge',
    name: 'last_event_timestamp_seconds',
    labels: {},
    help: 'When an Event was last written (Unix time, good to five seconds; over a restart, from the state); 0: none is known of.',
  },
  eventsDue: { type: 'gauge', name: 'events_due', labels: {}, help: 'Events that are due to be written now.' },
  oldestDue: {
    type: 'gauge',
    name: 'oldest_due_seconds',
    labels: {},
    help: 'How long the Event that has waited longest has been due.',
  },
} as const satisfies Record<string, MetricRow>;
