import type { Endpoint } from '../model/endpoint.ts';
import {
  type EventDetails,
  type FlowDetails,
  isSummary,
  type PortsDetails,
  type ScanDetails,
} from '../model/finding.ts';
import type { IncidentDetails } from '../model/incident.ts';
import type { PolicyName } from '../model/packet.ts';
import type { DistinctValues, Series } from '../model/series.ts';
import { cutBytes, printable, withoutMarkup } from '../platform/printable.ts';

export const annotationPrefix = 'kube-netfilter-tailer/';

/** The version of the table in docs/events.md. It changes when a key gets another meaning or goes, not when one is added. */
export const annotationSchema = '1';

/** Bytes of a value. Kind, namespace and name of an object have at most 381. */
const maxValue = 400;

/** Keys behind `annotationPrefix`. `state` is the agent's own (ownership.ts). */
type Key =
  | 'schema'
  | 'node'
  | 'code'
  | 'phase'
  | 'direction'
  | 'verdict'
  | 'protocol'
  | 'port'
  | 'ports'
  | 'port-list'
  | 'icmp'
  | 'packet'
  | 'peer'
  | 'peer-address'
  | 'peers'
  | 'policy'
  | 'policy-evidence'
  | 'summary';

/** Keys that a later write may no longer know: a policy that was changed, or is one of several that deny. A patch removes these. */
export const passing: readonly string[] = (['policy', 'policy-evidence'] satisfies Key[]).map(
  (key) => annotationPrefix + key,
);

type Values = Partial<Record<Key, string | number | undefined>>;

/**
 * Tells programs what the message of an Event says: texts of at most 400 bytes, in one line and without markup. What its packets do not have in common is left out, and
 * counted instead. `policy`: that denied its packets, where the log line names none. Of the keys of a series only those of `passing` are ever removed. Each key costs about 83 bytes in etcd (docs/decisions.md).
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

/** Values past the limit are not distinguished: it is at least as many. */
function countOf({ seen }: DistinctValues): number {
  return seen.length;
}

/** `22/TCP,80/TCP`: the first five; `ports` counts all. */
function firstOf({ seen }: DistinctValues): string {
  return seen.slice(0, 5).join(',');
}
