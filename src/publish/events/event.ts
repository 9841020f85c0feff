import { hash } from 'node:crypto';
import type { Endpoint, ObjectRef } from '../../base/model/endpoint.ts';
import {
  type EventDetails,
  type FlowDetails,
  isSummary,
  type PortsDetails,
  type ScanDetails,
} from '../../base/model/finding.ts';
import type { IncidentDetails } from '../../base/model/incident.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PolicyName } from '../../base/model/packet.ts';
import type { DistinctValues, Series } from '../../base/model/series.ts';
import { cutBytes, printable, withoutMarkup } from '../../base/platform/printable.ts';

/** This name is the `From` of kubectl, and rules of exporters match it. */
export const component = 'kube-netfilter-tailer';

/** The longest message in bytes, which is the limit of a note in the events.k8s.io API. */
const maxMessage = 1024;

/** The API server accepts only an int32. */
export const maxCount = 2_147_483_647;

export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  resourceVersion?: string;
}

/** The fields of a core/v1 Event that are set. `eventTime` and `series` are not, because kubectl would show them instead of times and `count`. */
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
  /** RFC 3339 in whole seconds. */
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string; host?: string };
  reportingComponent: string;
  reportingInstance: string;
}

export interface EventText {
  readonly message: string;
  /** The policy that denied the packets, or the full name of the policy in the log line. */
  readonly policy: PolicyName | undefined;
}

/** All times are of the wall clock. Each write of a series has the same name. */
export function eventOf(series: Series, text: string | EventText, now: Millis): CoreEvent {
  const { message, policy } = typeof text === 'string' ? { message: text, policy: undefined } : text;
  const { finding, window, count, first, last, published } = series;
  const { regarding, related, node, reason, type, shared } = finding;
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: eventName(
        regarding.name,
        published.alias ?? digestOf(finding.identity, shared === true ? '' : node, window),
      ),
      namespace: namespaceOfEvents(regarding),
      annotations: annotationsOf(series, policy),
    },
    involvedObject: reference(regarding),
    ...(related ? { related: reference(related) } : {}),
    reason,
    message: cutBytes(message, maxMessage),
    type,
    count: Math.min(published.base + count, maxCount),
    firstTimestamp: timestamp(published.first ?? first),
    // Exporters ignore Events that look older than a few seconds, so a new one gets the time of the write.
    lastTimestamp: timestamp(published.writes === 0 ? now : last),
    source: { component, ...(node === '' ? {} : { host: node }) },
    reportingComponent: component,
    reportingInstance: node === '' ? component : `${component}-${node}`.slice(0, 128),
  };
}

function digestOf(identity: string, node: string, window: number): string {
  return hash('sha256', JSON.stringify([identity, node, window])).slice(0, 20);
}

/** Returns `<object name>.<20 hex digits>`, a DNS subdomain of at most 253 characters. */
function eventName(object: string, digest: string): string {
  const labels = object
    .toLowerCase()
    .slice(0, 253 - 21)
    .split('.')
    .map((label) => label.replace(/[^a-z0-9-]+/g, '-').replace(/^-+|(?<!-)-+$/g, ''));
  const head = labels.filter((label) => label !== '').join('.');
  return `${head || 'object'}.${digest}`;
}

/** All fields of an Event at the API server. `CoreEvent` has a part of them. */
export type AnyEvent = Partial<CoreEvent> & {
  metadata?: { ownerReferences?: unknown };
  involvedObject?: { fieldPath?: string };
  action?: unknown;
  eventTime?: unknown;
  series?: unknown;
};

/**
 * Returns the fields that identify and classify an Event for readers, as one text: equal for all writes of an Event, by any node. It lacks
 * fields that each write sets (`type`), that a write may lack (`related`), and that admission may add to any object (labels).
 */
export function identityText(event: AnyEvent): string {
  const { metadata, involvedObject, reason, source, reportingComponent, action, eventTime, series } = event;
  const { apiVersion, kind, namespace, name, uid, fieldPath } = involvedObject ?? {};
  const object = [apiVersion, kind, namespace, name, uid, fieldPath];
  // The garbage collector deletes objects whose owner does not exist.
  const unwanted = [metadata?.ownerReferences, action, eventTime, series];
  return JSON.stringify(
    [...object, reason, source?.component, reportingComponent, ...unwanted].map((each) => each || ''),
  );
}

export function namespaceOfEvents(ref: ObjectRef): string {
  return ref.namespace ?? 'default';
}

function reference({ apiVersion, kind, namespace, name, uid, resourceVersion }: ObjectRef): ObjectReference {
  return {
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    // The kubelet writes a Node's name in place of the uid, and kubectl describe finds a Node's Events by either.
    ...(uid === '' ? (kind === 'Node' ? { uid: name } : {}) : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** The largest tolerable difference of clocks. Exporters ignore Events whose time is further off. */
export const tolerableSkew: Millis = 5000;

/** Cuts a time to whole seconds, as the API server would. */
export function timestamp(time: Millis): string {
  return `${new Date(Math.floor(time / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

export const annotationPrefix = 'kube-netfilter-tailer/';

/** The version of the table in docs/events.md. It changes when the meaning of a key changes or a key is removed, not when one is added. */
export const annotationSchema = '1';

/** The longest value in bytes. Kind, namespace and name of an object have at most 381. */
const maxValue = 400;

/** Annotations that a later write may lack, because policies change. The patch then removes them. */
export const removableAnnotations: readonly string[] = ['policy', 'policy-evidence'].map(
  (key) => annotationPrefix + key,
);

type Values = Record<string, string | number | undefined>;

/** A value that differs between packets is left out, or a count replaces it. A key takes about 83 bytes in etcd (docs/decisions.md). */
export function annotationsOf(series: Series, policy?: PolicyName): Record<string, string> {
  const { details, node } = series.finding;
  const summary = isSummary(series.finding) ? 'true' : undefined;
  const values: Values = { schema: annotationSchema, node, ...valuesOf(details, series, policy), summary };
  const annotations: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === '') continue;
    annotations[annotationPrefix + key] = cutBytes(withoutMarkup(printable(String(value))), maxValue);
  }
  return annotations;
}

function valuesOf(details: EventDetails, series: Series, policy: PolicyName | undefined): Values {
  if (details.kind === 'flow') return { ...flowValues(details, series), ...policyValues(details, policy) };
  if (details.kind === 'ports') return portsValues(details, series);
  if (details.kind === 'overflow') return overflowValues(series);
  return details.kind === 'scan' ? scanValues(details, series) : incidentValues(details);
}

function flowValues(details: FlowDetails, { peers }: Series): Values {
  const { direction, verdict, protocol, port, icmpType, icmpCode = 0, reply, error, peer, martian } = details;
  return {
    direction,
    verdict,
    protocol,
    port,
    icmp: icmpType === undefined ? undefined : `${icmpType}/${icmpCode}`,
    packet: error ? 'error' : reply ? 'reply' : undefined,
    peer: peerText(peer),
    // A Pod's address is in the Pod itself, and the address of an unknown peer is in `peer`.
    'peer-address': peer.object !== undefined && peer.object.kind !== 'Pod' ? peer.address : undefined,
    peers: countOf(peers) > 1 ? countOf(peers) : undefined,
    code: martian ? 'KN403' : undefined,
  };
}

/** Leaves out protocol and policy, in which packets on several ports may differ. */
function portsValues({ example }: PortsDetails, { peers, ports }: Series): Values {
  return {
    direction: example.direction,
    verdict: example.verdict,
    packet: example.reply ? 'reply' : undefined,
    peer: peerText(example.peer),
    peers: countOf(peers) > 1 ? countOf(peers) : undefined,
    ports: countOf(ports),
    'port-list': firstOf(ports),
  };
}

/** Leaves out direction, protocol and verdict, in which the packets of an overflow differ. */
function overflowValues({ peers, ports }: Series): Values {
  return { peers: countOf(peers), ports: countOf(ports), 'port-list': firstOf(ports) };
}

function scanValues({ of, example }: ScanDetails, { peers, ports }: Series): Values {
  return {
    direction: example.direction,
    peer: of === 'stranger' ? peerText(example.peer) : undefined,
    peers: countOf(peers),
    ports: countOf(ports),
    'port-list': firstOf(ports),
  };
}

function incidentValues({ diagnosis, phase }: IncidentDetails): Values {
  return { code: diagnosis, phase };
}

/** Returns `Deployment/batch/worker`, `Node/node-a`, `external/203.0.113.9`. A Pod's workload is preferred. No name contains a `/`. */
function peerText({ kind, address, workload, object }: Endpoint): string {
  const known = workload ?? object;
  return known === undefined ? `${kind}/${address}` : joined(known.kind, known.namespace, known.name);
}

function policyValues({ policy: logged }: FlowDetails, evaluated: PolicyName | undefined): Values {
  // If the log names a policy, `evaluated` is the same one, with its whole name.
  const policy = evaluated ?? logged;
  if (policy === undefined) return {};
  return {
    policy: joined(policy.kind, policy.namespace, policy.name),
    'policy-evidence': logged === undefined ? 'evaluated' : undefined,
  };
}

function joined(...parts: (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join('/');
}

/** A lower bound, because values past the limit are not distinguished. */
function countOf({ seen }: DistinctValues): number {
  return seen.length;
}

function firstOf({ seen }: DistinctValues): string {
  return seen.slice(0, 5).join(',');
}
