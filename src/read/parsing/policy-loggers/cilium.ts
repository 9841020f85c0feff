/** Reads formats of Cilium and of GKE's Dataplane V2, which is based on it. */
import type { Suppressed, Unparsable } from '../../../base/model/observation.ts';
import { type PacketObservation, type PolicyName, TcpFlag, type Verdict } from '../../../base/model/packet.ts';
import { isHostName } from '../../../base/platform/api-names.ts';
import { at, type Json, list, parsedBytes, text as textIn } from '../../../base/platform/json.ts';
import { fieldOf, isCount, observePacket, loggedPodName, sideOf, unparsable } from './record.ts';

/**
 * Reads a flow as Cilium's Hubble exports it, one object a line (pkg/hubble/exporter, api/v1/flow/flow.proto). Fields that are zero or
 * masked are left out:
 *
 *     {"flow":{"time":"…","verdict":"DROPPED","IP":{"source":"10.0.1.235","destination":"10.0.0.21"},"l4":{"TCP":{…}},"event_type":{"type":5},
 *      "traffic_direction":"EGRESS","drop_reason_desc":"POLICY_DENY","egress_denied_by":[{"name":"p","namespace":"ns","kind":"…"}]},…}
 *     {"lost_events":{"source":"PERF_EVENT_RING_BUFFER","num_events_lost":"12"},"node_name":"cluster/node-a","time":"…"}
 */
export function parseHubble(text: string): PacketObservation | Suppressed | Unparsable | undefined {
  const isFlow = text.includes('"flow":{');
  if (!text.startsWith('{') || !(isFlow || text.includes('"lost_events":{'))) return undefined;
  const line = parsedBytes(text);
  if (line === undefined) return unparsable(hubble, 'the JSON is damaged or cut off');
  const lost = at(line, 'lost_events');
  if (typeof lost === 'object' && lost !== null) {
    // The JSON of Protocol Buffers has 64-bit numbers as texts.
    const count = Number(at(lost, 'num_events_lost') ?? NaN);
    return { kind: 'suppressed', by: hubble, count: isCount(count) ? count : undefined, affects: 'everything' };
  }
  return isHubble(line) ? readFlow(at(line, 'flow')) : undefined;
}

/** Other programs have objects with these names, too. */
export function isHubble(line: Json): boolean {
  const [flow, lost] = [at(line, 'flow'), at(line, 'lost_events')];
  if (typeof flow !== 'object') return typeof lost === 'object' && lost !== null;
  return ['verdict', 'IP', 'event_type'].some((key) => at(flow, key) !== undefined);
}

const hubble = 'hubble';

/** The numbers of event types (pkg/monitor/api/types.go). */
const events = { drop: 1, trace: 4, verdict: 5 };

const verdicts = new Map<string, Verdict>([
  ['DROPPED', 'dropped'],
  ['ERROR', 'dropped'],
  // The packet would be dropped if the policies' audit mode were off.
  ['AUDIT', 'logged'],
  ['FORWARDED', 'accepted'],
  ['REDIRECTED', 'accepted'],
]);

function readFlow(flow: Json): PacketObservation | Unparsable | undefined {
  const given = textIn(at(flow, 'verdict'));
  const type = at(flow, 'event_type', 'type');
  // A packet passes several trace points, which make no decision.
  if (type === events.trace || given === 'TRACED' || given === 'TRANSLATED') return undefined;
  if (given === undefined)
    return unparsable(hubble, 'the flow has no verdict (the fieldMask of the export must keep it)');
  const verdict = verdicts.get(given);
  if (verdict === undefined) return unparsable(hubble, `the verdict ${given.slice(0, 60)} is not known`);
  const dropReason = verdict === 'dropped' ? reasonOf(flow) : undefined;
  const isByPolicy = verdict !== 'dropped' || dropReason === byPolicy;
  // A frame without addresses does not belong to a connection of a Pod.
  if (!isByPolicy && at(flow, 'IP') === undefined) return undefined;
  const [protocol, header] = layer4(flow);
  const isIcmp = protocol.startsWith('ICMP');
  const side = sideOf(at(flow, 'traffic_direction'));
  return observePacket({
    logger: hubble,
    verdict,
    enforcer: isByPolicy ? 'network-policy' : 'unknown',
    policy: verdict === 'accepted' || !isByPolicy ? undefined : deniedBy(flow, side),
    policySide: isByPolicy ? side : undefined,
    dropReason: isByPolicy ? undefined : dropReason,
    notice: dropReason === byPolicy ? noticeOf(type) : undefined,
    sourceName: loggedPodName(at(flow, 'source', 'namespace'), at(flow, 'source', 'pod_name')),
    destinationName: loggedPodName(at(flow, 'destination', 'namespace'), at(flow, 'destination', 'pod_name')),
    destinationHost: list(at(flow, 'destination_names')).map(textIn).find(isDomainName),
    source: fieldOf(at(flow, 'IP', 'source')),
    destination: fieldOf(at(flow, 'IP', 'destination')),
    protocol: protocol || undefined,
    sourcePort: fieldOf(at(header, 'source_port')),
    destinationPort: fieldOf(at(header, 'destination_port')),
    icmpType: isIcmp ? (fieldOf(at(header, 'type')) ?? 0) : undefined,
    icmpCode: isIcmp ? (fieldOf(at(header, 'code')) ?? 0) : undefined,
    tcpFlags: tcpFlags(at(header, 'flags')),
    repeat: countOf(flow),
  });
}

/** Stands for both reasons with which policies drop: a rule that denies (181), and no rule that allows (133). */
const byPolicy = 'POLICY';

/** Returns the reason by Cilium's name, and `L7_HTTP` for requests that its proxy refused; undefined if the line has none. */
function reasonOf(flow: Json): string | undefined {
  const layer7 = at(flow, 'l7');
  if (layer7 !== undefined || at(flow, 'Type') === 'L7') {
    const protocol = ['http', 'dns', 'kafka'].find((name) => at(layer7, name) !== undefined);
    return protocol === undefined ? 'L7' : `L7_${protocol.toUpperCase()}`;
  }
  const given = at(flow, 'drop_reason_desc') ?? at(flow, 'drop_reason');
  const isDenied = given === 'POLICY_DENIED' || given === 'POLICY_DENY' || given === 133 || given === 181;
  if (isDenied || (given === undefined && at(flow, 'event_type', 'type') === events.verdict)) return byPolicy;
  // A newer Cilium may have reasons that its protocol has no names for.
  if (typeof given === 'number') return isCount(given) ? `reason ${given}` : undefined;
  return typeof given === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(given) ? given : undefined;
}

/** Accepts only names that a host can have, because a tenant may look up any name. */
function isDomainName(name: string | undefined): name is string {
  return name !== undefined && name.length <= 253 && isHostName(name);
}

/** Returns the first policy that denies. Policies that allow belong to the other end, or to another layer. */
function deniedBy(flow: Json, side: PacketObservation['policySide']): PolicyName | undefined {
  const [first] = list(at(flow, side === 'receiver' ? 'ingress_denied_by' : 'egress_denied_by'));
  const name = textIn(at(first, 'name'));
  if (name === undefined) return undefined;
  return { kind: textIn(at(first, 'kind')), namespace: textIn(at(first, 'namespace')), name, tier: undefined };
}

function noticeOf(type: Json): PacketObservation['notice'] {
  if (type === events.drop) return 'drop';
  return type === events.verdict ? 'verdict' : undefined;
}

function layer4(flow: Json): readonly [protocol: string, header: Json] {
  const l4 = at(flow, 'l4');
  const name = typeof l4 === 'object' && l4 !== null ? (Object.keys(l4)[0] ?? '') : '';
  return [name === 'ICMPv4' ? 'ICMP' : name, at(l4, name)];
}

function tcpFlags(flags: Json): number | undefined {
  if (typeof flags !== 'object' || flags === null) return undefined;
  return Object.entries(TcpFlag).reduce((bits, [name, bit]) => (at(flags, name) === true ? bits | bit : bits), 0);
}

/** Returns how many flows the line counts. Cilium has the number in `aggregate`, Azure's builds in `extensions`. */
function countOf(flow: Json): number {
  const counts = [at(flow, 'aggregate'), at(flow, 'extensions')].map((part) =>
    ['ingress', 'egress', 'unknown_direction'].reduce((sum, direction) => {
      const count = Number(at(part, `${direction}_flow_count`) ?? 0);
      return isCount(count) ? sum + count : sum;
    }, 0),
  );
  return Math.max(1, ...counts);
}

/**
 * Reads GKE Dataplane V2's network policy log, with keys in any order. One line without a policy counts the denials of five seconds:
 *
 *     {"connection":{"src_ip":"10.84.1.8","dest_ip":"10.84.0.11","src_port":45084,"dest_port":8080,"protocol":"tcp","direction":"ingress"},
 *      "disposition":"deny","src":{…},"dest":{…},"count":3,"node_name":"n","timestamp":"2020-06-13T21:30:22.292379064Z"}
 */
export function parseGke(text: string): PacketObservation | Unparsable | undefined {
  if (!text.startsWith('{') || !text.includes('"disposition":"')) return undefined;
  const line = parsedBytes(text);
  if (line === undefined) return unparsable(gke, 'the JSON is damaged or cut off');
  if (!isGke(line)) return undefined;
  const connection = at(line, 'connection');
  const disposition = String(fieldOf(at(line, 'disposition')) ?? '(missing)');
  const verdict = dispositions.get(disposition);
  if (verdict === undefined) return unparsable(gke, `the disposition ${disposition.slice(0, 60)} is not known`);
  const count = Number(at(line, 'count') ?? 1);
  return observePacket({
    logger: gke,
    verdict,
    policySide: sideOf(at(connection, 'direction')),
    sourceName: loggedPodName(at(line, 'src', 'pod_namespace'), at(line, 'src', 'pod_name')),
    destinationName: loggedPodName(at(line, 'dest', 'pod_namespace'), at(line, 'dest', 'pod_name')),
    source: fieldOf(at(connection, 'src_ip')),
    destination: fieldOf(at(connection, 'dest_ip')),
    protocol: fieldOf(at(connection, 'protocol')),
    sourcePort: fieldOf(at(connection, 'src_port')),
    destinationPort: fieldOf(at(connection, 'dest_port')),
    repeat: isCount(count) ? Math.max(1, count) : 1,
  });
}

/** Other programs have dispositions, too. */
export function isGke(line: Json): boolean {
  return ['src_ip', 'dest_ip'].every((key) => at(line, 'connection', key) !== undefined);
}

const gke = 'gke-policy-action';

const dispositions = new Map<string, Verdict>([
  ['deny', 'dropped'],
  ['allow', 'accepted'],
]);
