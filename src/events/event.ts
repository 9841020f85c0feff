import { hash } from 'node:crypto';
import type { ObjectRef } from '../model/endpoint.ts';
import type { Millis } from '../model/log-line.ts';
import type { PolicyName } from '../model/packet.ts';
import type { Series } from '../model/series.ts';
import { cutBytes } from '../platform/printable.ts';
import { annotationsOf } from './annotations.ts';

/** Name under which the Events are shown (`From`) and matched by exporters' rules. */
export const component = 'kube-netfilter-tailer';

/** Bytes of a message, as client-go and the events.k8s.io API cut it. */
const maxMessage = 1024;

/** An int32 in the API: an Event that counts more is refused. */
const maxCount = 2_147_483_647;

export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  resourceVersion?: string;
}

/** core/v1 Event, the fields that are set. `eventTime` and `series` stay unset, or kubectl would ignore `count`. */
export interface CoreEvent {
  apiVersion: 'v1';
  kind: 'Event';
  metadata: { name: string; namespace: string; annotations?: Record<string, string> };
  involvedObject: ObjectReference;
  related?: ObjectReference;
  reason: string;
  message: string;
  type: 'Warning' | 'Normal';
  count: number;
  /** RFC 3339, whole seconds: the API server keeps no more. */
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string; host?: string };
  reportingComponent: string;
  reportingInstance: string;
}

/** Facts that are found out when an Event is written. */
export interface EventText {
  readonly message: string;
  /** The policy that denied the packets, or the whole name of the one that the log line names. */
  readonly policy: PolicyName | undefined;
}

/** The Event of a series at `now`, all times of the wall clock. Written again after a crash it has the same name. */
export function eventOf(series: Series, text: string | EventText, now: Millis): CoreEvent {
  const { message, policy } = typeof text === 'string' ? { message: text, policy: undefined } : text;
  const { finding, window, count, first, last, published } = series;
  const { regarding, related, node, reason, type, shared } = finding;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: eventName(regarding.name, finding.identity, shared === true ? '' : node, window),
      namespace: namespaceOf(regarding),
      annotations: annotationsOf(series, policy),
    },
    involvedObject: reference(regarding),
    ...(related ? { related: reference(related) } : {}),
    reason,
    message: cutBytes(message, maxMessage),
    type,
    count: Math.min(published.base + count, maxCount),
    firstTimestamp: timestamp(published.first ?? first),
    // A new Event has the time of the write, because exporters discard what looks older than a few seconds.
    lastTimestamp: timestamp(published.writes === 0 ? now : last),
    source: { component, ...(node === '' ? {} : { host: node }) },
    reportingComponent: component,
    reportingInstance: node === '' ? component : `${component}-${node}`.slice(0, 128),
  };
}

/** `<object name>.<20 hex digits>`: a DNS subdomain of at most 253 characters. */
function eventName(object: string, identity: string, node: string, window: number): string {
  const digest = hash('sha256', JSON.stringify([identity, node, window])).slice(0, 20);
  const labels = object
    .toLowerCase()
    .slice(0, 253 - 21)
    .split('.')
    .map((label) => label.replace(/[^a-z0-9-]+/g, '-').replace(/^-+|(?<!-)-+$/g, ''));
  const head = labels.filter((label) => label !== '').join('.');
  return `${head || 'object'}.${digest}`;
}

/** Events of objects without a namespace live in `default`. */
export function namespaceOf(ref: ObjectRef): string {
  return ref.namespace ?? 'default';
}

function reference({ apiVersion, kind, namespace, name, uid, resourceVersion }: ObjectRef): ObjectReference {
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    // kubectl describe finds a Node's Events by its uid or, as the kubelet does, by its name in place of it.
    ...(uid === '' ? (kind === 'Node' ? { uid: name } : {}) : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** RFC 3339 in whole seconds, cut as the API server would cut it. */
export function timestamp(time: Millis): string {
  return `${new Date(Math.floor(time / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}
