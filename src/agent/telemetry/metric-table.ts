import { lookupWays } from '../../base/model/choices.ts';
import { verdicts } from '../../base/model/packet.ts';
import { writeResults } from '../../base/model/series.ts';
import { counter, gauge, histogram } from './metric-row.ts';

export { counter, gauge, histogram, type MetricRow } from './metric-row.ts';

export const prefix = 'kube_netfilter_tailer_';

const source = 'a source of lines';
const sink = 'where flow records go: stdout, file, otlp';
const code = 'a cause: KN102, …; see docs/causes';
const resource = 'a kind of object: pods, events, …';
const lookupResults = ['hit', 'miss', 'failed', 'refused', 'cached'] as const;

/** All metrics of the program itself; those of the process are not here. A test compares docs/metrics.md with this table. */
export const metricTable = {
  // Reading the logs.
  lines: counter('lines_total', 'Lines read, relevant or not.', { source }),
  readBytes: counter('read_bytes_total', 'Bytes of log read.', { source }),
  lostRecords: counter(
    'lost_records_total',
    'Log records that were overwritten or suppressed before they could be read.',
    { source },
  ),
  lostBytes: counter('lost_bytes_total', 'Bytes of log that were truncated or deleted before they could be read.', {
    source,
  }),
  longLines: counter('long_lines_total', 'Lines over 64 KiB, of which the rest was skipped.', { source }),
  repeatedLines: counter(
    'repeated_lines_total',
    'Lines of the kernel and records of programs that were skipped because another source also delivers them.',
  ),
  forgottenLines: counter(
    'forgotten_lines_total',
    "Always 0: only one source delivers the kernel's lines, so the agent does not wait for others.",
  ),
  sourceState: gauge('source_state', '1 for the state that a source is in, 0 for the others.', {
    source,
    state: ['waiting', 'reading', 'failed', 'stopped'],
  }),
  lastLine: gauge(
    'last_line_timestamp_seconds',
    'When a line was last read, relevant or not (Unix time, good to five seconds); missing: no line since the start.',
    { source },
  ),
  // Findings in the logs.
  packets: counter('packets_total', 'Logged packets, by the verdict that the LOG prefix shows.', {
    verdict: verdicts,
  }),
  lastDrop: gauge(
    'last_drop_timestamp_seconds',
    'When a lost packet was last seen (Unix time, good to five seconds; after a restart, from the state); 0: never.',
  ),
  drops: counter(
    'drops_total',
    'Lost packets by the workloads of their Pods, without noise. A packet between two Pods counts once for each.',
    {
      namespace: 'of the Pod; other: past the limit of time series',
      workload: 'the name of its Deployment, StatefulSet, …, or its own; other: past the limit of its namespace',
      direction: ['ingress', 'egress'],
      verdict: ['dropped', 'rejected'],
      reason: ['network-policy', 'host-firewall', 'martian', 'unknown'],
    },
  ),
  kernelDrops: counter(
    'kernel_drops_total',
    'Packets that the kernel has dropped on this node, in all network namespaces, including those that make no Event; missing without the source kernel-drops or the kernel option CONFIG_HIST_TRIGGERS.',
    { reason: "the kernel's name, such as NETFILTER_DROP; other: a reason without a name" },
  ),
  connectFailures: counter(
    'connect_failures_total',
    "Connections of this node's Pods that failed without an answer, by result; 0 without the source kernel-drops.",
    {
      result: ['denied', 'told', 'unproven', 'foreign', 'overflowed'],
    },
  ),
  unparsable: counter('unparsable_total', 'Lines of a known format that could not be understood.'),
  dropsWithoutPod: counter('drops_without_pod_total', 'Lost packets with no known Pod at either end.'),
  noise: counter(
    'noise_total',
    'Lost packets that are chatter of the link (multicast, broadcast, DHCP, …) and make no Event.',
  ),
  programRecords: counter(
    'program_records_total',
    'Records that kube-proxy and calico-node wrote about their own work and that could be read.',
  ),
  failures: counter(
    'failures_total',
    'Failures of kube-proxy, calico-node and kernel tables, including single ones, which are not incidents.',
    { code },
  ),
  failuresUnrepeated: counter(
    'failures_unrepeated_total',
    'Attempts that failed once and did not fail again within 15 minutes (longer if retries are rarer): no Event reports them.',
    { code },
  ),
  incidentsOpen: gauge('incident_open', '1 while an incident lasts, otherwise 0.', { code }),
  incidentsOpened: counter('incidents_opened_total', 'Incidents: failures that came again.', { code }),
  conntrackEntries: gauge(
    'conntrack_entries',
    "Entries of the host's connection tracking table, every 30 s; missing where its /proc cannot be read (component conntrack-details, or the host's network).",
  ),
  conntrackLimit: gauge('conntrack_limit', 'The size limit of that table; missing in the same cases.'),
  series: gauge('series', 'Problems that are being counted.'),
  seriesUncountedPackets: counter(
    'series_uncounted_packets_total',
    'Lost packets that no Event counts, because there were too many problems at once.',
  ),
  seriesOverflowPackets: counter(
    'series_overflow_packets_total',
    'Lost packets counted in the Event "and N other peers" of a Pod with too many problems.',
  ),
  waitingFlows: gauge(
    'waiting_flows',
    'Flows whose Pods are being looked up. A flow that waits for several minutes counts once for each minute.',
  ),
  waitingOverflowPackets: counter(
    'waiting_overflow_packets_total',
    'Lost packets for which the queue was full, so that they were counted without waiting for look-ups.',
  ),
  // Events written to the API server.
  eventWrites: counter('event_writes_total', 'Attempts to write an Event, and how they ended.', {
    verb: ['create', 'update', 'read'],
    result: writeResults,
  }),
  eventsAbandoned: counter('events_abandoned_total', 'Events given up, because trying again would not help.', {
    reason: 'how the last attempt to write it ended',
  }),
  eventPacketsPublished: counter('event_packets_published_total', 'Lost packets that Events on the API server count.'),
  lastEvent: gauge(
    'last_event_timestamp_seconds',
    'When an Event was last written (Unix time, good to five seconds; after a restart, from the state); 0: never.',
  ),
  eventsDue: gauge('events_due', 'Events that are due to be written now.'),
  oldestDue: gauge('oldest_due_seconds', 'Age of the oldest overdue Event.'),
  // Questions to the API server and the DNS.
  apiRequests: counter('api_requests_total', 'Requests to the API server.', {
    verb: 'an HTTP method',
    resource,
    code: 'the HTTP status; 0 without an answer that could be read',
  }),
  apiRequestSeconds: histogram(
    'api_request_seconds',
    'How long requests to the API server took.',
    { verb: 'an HTTP method' },
    [0.01, 0.05, 0.25, 1, 5, 30],
  ),
  watchLastHeard: gauge(
    'watch_last_heard_timestamp_seconds',
    'When a watch last heard from the API server, if only a bookmark (Unix time).',
    { resource },
  ),
  watchRestarts: counter('watch_restarts_total', 'Watches that had to be started again after an error.', { resource }),
  cachedObjects: gauge('cached_objects', 'API objects held in memory.', { resource }),
  keptBytes: gauge('kept_bytes', 'Estimated memory of the API objects and answers that the agent keeps.', {
    resource,
  }),
  keptBytesLimit: gauge(
    'kept_bytes_limit',
    'The limit of that memory; past it, objects of the Namespace that has the most are left out.',
  ),
  leftOutObjects: gauge(
    'left_out_objects',
    'API objects left out of memory for lack of room; anything that depends on them is unknown.',
    {
      resource,
    },
  ),
  tombstones: gauge('tombstones', 'Deleted Pods that are still known, for lines that come late.'),
  podLookups: counter('pod_lookups_total', 'Look-ups of the Pod that has a remote address; refused: past the budget.', {
    result: lookupResults,
  }),
  podLookupWays: counter(
    'pod_lookup_ways_total',
    'The same look-ups, by each way that was tried; refused: past the budget of that way.',
    { way: lookupWays, result: ['hit', 'miss', 'failed', 'refused'] },
  ),
  directoryAnswers: counter('directory_answers_total', 'Answers of the shared directory to agents, by result.', {
    result: 'hit, miss, stranger (no agent), busy (not listed yet, or too many tokens to review), wrong (no address)',
  }),
  dnsLookups: counter('dns_lookups_total', 'DNS look-ups of the host name of an address; refused: past the budget.', {
    result: lookupResults,
  }),
  missingPermission: gauge(
    'missing_permission',
    '1 while a required right is missing (a 403 of RBAC; writes that admission denies count in event_writes_total).',
    { verb: 'a verb of RBAC', resource },
  ),
  clockSkew: gauge('clock_skew_seconds', 'Clock of this node minus clock of the API server, good to a second.'),
  // The audit.
  auditRows: counter('audit_rows_total', 'Flow records by sink and result; lost: the queue was full.', {
    sink,
    result: ['sent', 'refused', 'lost'],
  }),
  auditAttempts: counter('audit_attempts_total', 'Batches of flow records that were sent to a sink.', {
    sink,
    result: ['ok', 'failed'],
  }),
  auditBehind: gauge('audit_behind_rows', 'Flow records that a sink has not confirmed.', { sink }),
  auditQueueBytes: gauge('audit_queue_bytes', 'Flow records that wait for sinks, in bytes.'),
  auditFlows: gauge('audit_open_flows', 'Flows whose interval has not ended.'),
  // The program's own settings and state.
  configReloads: counter('config_reloads_total', 'Changes of the config file that took effect, or were refused.', {
    result: ['ok', 'failed'],
  }),
  configInForce: gauge(
    'config_in_force',
    '1 if the settings of the config file are in force, or if there is no config file; 0: the file is wrong, cannot be read, or needs a restart.',
  ),
  stateSaved: gauge(
    'state_saved_timestamp_seconds',
    'When counts and positions were last saved (Unix time); 0: not yet.',
  ),
  stateSize: gauge('state_size_bytes', 'Size of the state on disk.'),
  stateErrors: counter('state_errors_total', 'Failures to read or write the state.', {
    operation: 'load, save; lost: another program changed it on disk, so it was written again',
  }),
  buildInfo: gauge('build_info', 'Always 1; the labels have the versions.', {
    version: 'of the program',
    node_version: 'of Node.js',
  }),
};

export type MetricTable = typeof metricTable;
