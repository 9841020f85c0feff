import { hash } from 'node:crypto';
import type { Endpoint, ObjectRef } from '../model/endpoint.ts';
import {
  type EventDetails,
  type FlowDetails,
  isSummary,
  type PortsDetails,
  type ScanDetails,
} from '../model/finding.ts';
import type { IncidentDetails } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import type { PolicyName } from '../model/packet.ts';
import type { DistinctValues, Series } from '../model/series.ts';
import { cutBytes, printable, withoutMarkup } from '../platform/printable.ts';

/** Shown as `From`, and matched by exporters' rules. */
export const component = 'kube-netfilter-tailer';

/** client-go and the events.k8s.io API cut messages to so many bytes. */
const maxMessage = 1024;

/** The API server refuses a count that is no int32. */
const maxCount = 2_147_483_647;

export interface ObjectReference {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  resourceVersion?: string;
}

/** The fields of a core/v1 Event that are set. With `eventTime` or `series` kubectl would ignore `count`. */
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
  /** The policy that denied the packets, or the full name of the one in the log line. */
  readonly policy: PolicyName | undefined;
}

/** Makes the Event of a series at `now`; all times are of the wall clock. A repeated write has the same name. */
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
    // Exporters discard Events that look older than a few seconds, so a new one has the time of the write.
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
    // kubectl describe finds the Events of a Node by its uid or, as the kubelet writes it, its name as uid.
    ...(uid === '' ? (kind === 'Node' ? { uid: name } : {}) : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** Cuts to whole seconds, as the API server would. */
export function timestamp(time: Millis): string {
  return `${new Date(Math.floor(time / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

export const annotationPrefix = 'kube-netfilter-tailer/';

/** The version of the table in docs/events.md. It changes when a key gets another meaning or goes, not when one is added. */
export const annotationSchema = '1';

/** Bytes of a value; kind, namespace and name of an object have 381 at most. */
const maxValue = 400;

/** A later write may not know these, because policies change; the patch removes them then. */
export const passing: readonly string[] = ['policy', 'policy-evidence'].map((key) => annotationPrefix + key);

type Values = Record<string, string | number | undefined>;

/**
 * Tells programs what the message says: one line of 400 bytes at most for each key, without markup. Values that differ between packets are
 * left out, and counted. Each key costs about 83 bytes in etcd (docs/decisions.md).
 */
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
    // A Pod has its address itself.
    'peer-address': peer.object !== undefined && peer.object.kind !== 'Pod' ? peer.address : undefined,
    peers: countOf(peers) > 1 ? countOf(peers) : undefined,
    code: martian ? 'KN403' : undefined,
  };
}

/** Its ports may be of several protocols, and its packets denied by several policies. */
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

/** Its packets go both ways, over several protocols, and were refused in several ways. */
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

/** `Deployment/batch/worker`, `Pod/shop/db-0`, `Node/node-a`, `external/203.0.113.9`: a name has no `/`. A Pod's workload goes before it. */
function peerText({ kind, address, workload, object }: Endpoint): string {
  const known = workload ?? object;
  return known === undefined ? `${kind}/${address}` : joined(known.kind, known.namespace, known.name);
}

/** `NetworkPolicy/shop/default-deny`: what the log line names, else what follows from policies that were read. */
function policyValues({ policy: logged }: FlowDetails, evaluated: PolicyName | undefined): Values {
  // A name that the log has cut off is whole there.
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

/** At least so many: values past the limit are not distinguished. */
function countOf({ seen }: DistinctValues): number {
  return seen.length;
}

/** `22/TCP,80/TCP`: the first five. */
function firstOf({ seen }: DistinctValues): string {
  return seen.slice(0, 5).join(',');
}
