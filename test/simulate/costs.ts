import type { Millis } from '../../src/base/model/log-line.ts';
import type { RequestKind } from './measurements.ts';

/**
 * CPU time of an API server (1.36.3) for one request, in milliseconds: for Events from `npm run bench -- events`, for
 * the rest from `npm run bench -- lookups` (docs/lookups.md). Etcd's CPU time is not included: 0.64 ms for an Event
 * that is created, 0.91 for one that is patched. The cost of a 429 is assumed, not measured.
 */
export const costs: Readonly<Record<RequestKind | 'throttled', Millis>> = {
  'create Event': 1.95,
  'patch Event': 2.28,
  'read Event': 0.95,
  // 15.7 ms for 100 Pods of 14 KB.
  'list Pods of a node': 4.7,
  list: 0.95,
  count: 3.85,
  watch: 0.95,
  'read block': 0.95,
  'read object': 0.95,
  review: 0.95,
  throttled: 0.1,
};

/**
 * Bytes in etcd (protobuf, with its key) in addition to the JSON that an agent sends: managedFields and what the API
 * server sets, 742 for 657 (`npm run bench -- events`). Earlier revisions of an Event, which etcd keeps until it is
 * compacted, are not included.
 */
export const eventOverhead = 85;
