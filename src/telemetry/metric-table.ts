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

export const prefix = 'kube_netfilter_tailer_';

const source = 'a source of lines';
const resource = 'a kind of object: pods, events, …';
const code = 'a cause: KN102, …; see docs/causes';
const found = ['hit', 'miss', 'failed', 'refused', 'cached'] as const;

/** Every metric of the program itself; docs/metrics.md is checked against it. */
export const metricTable = {
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
  packets: {
    type: 'counter',
    name: 'packets_total',
    labels: { verdict: ['dropped', 'rejected', 'logged', 'accepted'] },
    help: 'Packets that were logged, by what became of them as far as the LOG prefix tells.',
  },
  unparsable: {
    type: 'counter',
    name: 'unparsable_total',
    labels: {},
    help: 'Lines of a known format that could not be understood.',
  },
  dropsWithoutPod: {
    type: 'counter',
    name: 'drops_without_pod_total',
    labels: {},
    help: 'Lost packets with no known Pod at either end.',
  },
  noise: {
    type: 'counter',
    name: 'noise_total',
    labels: {},
    help: 'Lost packets that are chatter of the link (multicast, broadcast, DHCP, …) and make no Event.',
  },
  programRecords: {
    type: 'counter',
    name: 'program_records_total',
    labels: {},
    help: 'Records that kube-proxy and calico-node wrote about their own work and that could be read.',
  },
  failures: {
    type: 'counter',
    name: 'failures_total',
    labels: { code },
    help: 'Failures of kube-proxy, calico-node and kernel tables, also those that happened once and are no incident.',
  },
  incidentsOpen: { type: 'gauge', name: 'incident_open', labels: { code }, help: '1 while an incident lasts, else 0.' },
  incidentsOpened: {
    type: 'counter',
    name: 'incidents_opened_total',
    labels: { code },
    help: 'Incidents: failures that came again.',
  },
  series: { type: 'gauge', name: 'series', labels: {}, help: 'Problems that are being counted.' },
  seriesUncountedPackets: {
    type: 'counter',
    name: 'series_uncounted_packets_total',
    labels: {},
    help: 'Lost packets that no Event tells of, because there were too many problems at once.',
  },
  seriesOverflowPackets: {
    type: 'counter',
    name: 'series_overflow_packets_total',
    labels: {},
    help: 'Lost packets counted in the Event "and N other peers" of a Pod with too many problems.',
  },
  waitingFlows: {
    type: 'gauge',
    name: 'waiting_flows',
    labels: {},
    help: 'Flows that wait until it is known whose they are.',
  },
  waitingOverflowPackets: {
    type: 'counter',
    name: 'waiting_overflow_packets_total',
    labels: {},
    help: 'Lost packets that found no room to wait and were counted with what was known.',
  },
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
  eventsDue: { type: 'gauge', name: 'events_due', labels: {}, help: 'Events that are due to be written now.' },
  oldestDue: {
    type: 'gauge',
    name: 'oldest_due_seconds',
    labels: {},
    help: 'How long the Event that has waited longest has been due.',
  },
  apiRequests: {
    type: 'counter',
    name: 'api_requests_total',
    labels: { verb: 'an HTTP method', resource, code: 'the HTTP status; 0 if there was no answer' },
    help: 'Requests to the API server.',
  },
  apiRequestSeconds: {
    type: 'histogram',
    name: 'api_request_seconds',
    labels: { verb: 'an HTTP method' },
    help: 'How long requests to the API server took.',
    buckets: [0.01, 0.05, 0.25, 1, 5, 30],
  },
  watchLastHeard: {
    type: 'gauge',
    name: 'watch_last_heard_timestamp_seconds',
    labels: { resource },
    help: 'When a watch last heard from the API server, if only a bookmark (Unix time).',
  },
  watchRestarts: {
    type: 'counter',
    name: 'watch_restarts_total',
    labels: { resource },
    help: 'Watches that had to be started anew after an error.',
  },
  cachedObjects: { type: 'gauge', name: 'cached_objects', labels: { resource }, help: 'API objects held in memory.' },
  tombstones: {
    type: 'gauge',
    name: 'tombstones',
    labels: {},
    help: 'Deleted Pods that are still known, for lines that come late.',
  },
  podLookups: {
    type: 'counter',
    name: 'pod_lookups_total',
    labels: { result: found },
    help: 'Questions to the API server whose Pod a remote address is; refused: past the budget.',
  },
  dnsLookups: {
    type: 'counter',
    name: 'dns_lookups_total',
    labels: { result: found },
    help: 'Questions to the DNS for the host name of an address; refused: past the budget.',
  },
  missingPermission: {
    type: 'gauge',
    name: 'missing_permission',
    labels: { verb: 'a verb of RBAC', resource },
    help: '1 while the API server refuses something that is needed (403).',
  },
  clockSkew: {
    type: 'gauge',
    name: 'clock_skew_seconds',
    labels: {},
    help: 'Clock of this node minus clock of the API server, good to a second.',
  },
  configReloads: {
    type: 'counter',
    name: 'config_reloads_total',
    labels: { result: ['ok', 'failed'] },
    help: 'Changes of the file of settings that were followed, or refused.',
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

export type MetricTable = typeof metricTable;
