import type { MetricRow } from '../metric-row.ts';

const resource = 'a kind of object: pods, events, …';
const found = ['hit', 'miss', 'failed', 'refused', 'cached'] as const;

/** What is asked of the API server and the DNS. */
export const knowing = {
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
    help: '1 while a right that is needed is missing (a 403 of RBAC; what admission denies is a write with the result "denied").',
  },
  clockSkew: {
    type: 'gauge',
    name: 'clock_skew_seconds',
    labels: {},
    help: 'Clock of this node minus clock of the API server, good to a second.',
  },
} as const satisfies Record<string, MetricRow>;
