import type { Suppressed, Unparsable } from '../../model/observation.ts';
import { type PacketObservation, type PolicyName, TcpFlag, type Verdict } from '../../model/packet.ts';
import { isHostName } from '../../platform/api-names.ts';
import { at, type Json, list, parsedBytes, text as textOf } from '../../platform/json.ts';
import { fieldOf, isCount, observePacket, podName } from './record.ts';

/**
 * A flow as Cilium's Hubble exports it, one object a line (pkg/hubble/exporter, api/v1/flow/flow.proto). Fields that are zero or masked are
 * left out:
 *
 *     {"flow":{"time":"…","verdict":"DROPPED","IP":{"source":"10.0.1.235","destination":"10.0.0.21"},"l4":{"TCP":{…}},"event_type":{"type":5},
 *      "traffic_direction":"EGRESS","drop_reason_desc":"POLICY_DENY","egress_denied_by":[{"name":"p","namespace":"ns","kind":"…"}]},…}
 *     {"lost_events":{"source":"PERF_EVENT_RING_BUFFER","num_events_lost":"12"},"node_name":"cluster/node-a","time":"…"}
 */
export function parseHubble(text: string): PacketObservation | Suppressed | Unparsable | undefined {
  const isFlow = text.includes('"flow":{');
  if (!text.startsWith('{') || !(isFlow || text.includes('"lost_events":{'))) return undefined;
  const line = parsedBytes(text);
  if (line === undefined) return unparsable('the JSON is damaged or cut off');
  const lost = at(line, 'lost_events');
  if (typeof lost === 'object' && lost !== null) return lostEvents(lost);
  const flow = at(line, 'flow');
  // Other programs have objects of that name, too.
  if (!['verdict', 'IP', 'event_type'].some((key) => at(flow, key) !== undefined)) return undefined;
  return readFlow(flow);
}

const logger = 'hubble';

function unparsable(reason: string): Unparsable {
  return { kind: 'unparsable', format: logger, reason };
}

/** 64-bit numbers are texts in the JSON of Protocol Buffers. */
function lostEvents(lost: Json): Suppressed {
  const count = Number(at(lost, 'num_events_lost') ?? NaN);
  return { kind: 'suppressed', by: logger, count: isCount(count) ? count : undefined, affects: 'everything' };
}

/** Numbers of types of events (pkg/monitor/api/types.go). */
const events = { drop: 1, trace: 4, verdict: 5 };

const verdicts = new Map<string, Verdict>([
  ['DROPPED', 'dropped'],
  ['ERROR', 'dropped'],
  // Would be dropped, if the policies' audit mode were off.
  ['AUDIT', 'logged'],
  ['FORWARDED', 'accepted'],
  ['REDIRECTED', 'accepted'],
]);

function readFlow(flow: Json): PacketObservation | Unparsable | undefined {
  const given = textOf(at(flow, 'verdict'));
  const type = at(flow, 'event_type', 'type');
  // One packet passes several trace points, and is seen once more by those that decide nothing.
  if (type === events.trace || given === 'TRACED' || given === 'TRANSLATED') return undefined;
  if (given === undefined) return unparsable('the flow has no verdict (the fieldMask of the export must keep it)');
  const verdict = verdicts.get(given);
  if (verdict === undefined) return unparsable(`the verdict ${given.slice(0, 60)} is not known`);
  const dropReason = verdict === 'dropped' ? reasonOf(flow) : undefined;
  const isPolicys = verdict !== 'dropped' || dropReason === policys;
  // A frame without addresses is none of a Pod's connections.
  if (!isPolicys && at(flow, 'IP') === undefined) return undefined;
  const [protocol, header] = layer4(flow);
  const isIcmp = protocol.startsWith('ICMP');
  const ingress = at(flow, 'traffic_direction') === 'INGRESS';
  const egress = at(flow, 'traffic_direction') === 'EGRESS';
  return observePacket({
    logger,
    verdict,
    enforcer: isPolicys ? 'network-policy' : 'unknown',
    policy: verdict === 'accepted' || !isPolicys ? undefined : deniedBy(flow, ingress),
    policySide: isPolicys && ingress ? 'receiver' : isPolicys && egress ? 'sender' : undefined,
    dropReason: isPolicys ? undefined : dropReason,
    notice: dropReason === policys ? noticeOf(type) : undefined,
    sourceName: podName(at(flow, 'source', 'namespace'), at(flow, 'source', 'pod_name')),
    destinationName: podName(at(flow, 'destination', 'namespace'), at(flow, 'destination', 'pod_name')),
    destinationHost: list(at(flow, 'destination_names')).map(textOf).find(isDomainName),
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
const policys = 'POLICY';

/** The reason as Cilium calls it, `L7_HTTP` for what its proxy refused, or undefined where the line has none. */
function reasonOf(flow: Json): string | undefined {
  const layer7 = at(flow, 'l7');
  if (layer7 !== undefined || at(flow, 'Type') === 'L7') {
    const protocol = ['http', 'dns', 'kafka'].find((name) => at(layer7, name) !== undefined);
    return protocol === undefined ? 'L7' : `L7_${protocol.toUpperCase()}`;
  }
  const given = at(flow, 'drop_reason_desc') ?? at(flow, 'drop_reason');
  const isByPolicy = given === 'POLICY_DENIED' || given === 'POLICY_DENY' || given === 133 || given === 181;
  if (isByPolicy || (given === undefined && at(flow, 'event_type', 'type') === events.verdict)) return policys;
  // A newer Cilium has reasons that its protocol has no name for.
  if (typeof given === 'number') return isCount(given) ? `reason ${given}` : undefined;
  return typeof given === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(given) ? given : undefined;
}

/** A tenant may ask for any name: what is none of a host is left out. */
function isDomainName(name: string | undefined): name is string {
  return name !== undefined && name.length <= 253 && isHostName(name);
}

/** The first of the policies that deny. Never one that allows: that is of the other end, or of another layer. */
function deniedBy(flow: Json, ingress: boolean): PolicyName | undefined {
  const [first] = [...list(at(flow, ingress ? 'ingress_denied_by' : 'egress_denied_by'))];
  const name = textOf(at(first, 'name'));
  if (name === undefined) return undefined;
  return { kind: textOf(at(first, 'kind')), namespace: textOf(at(first, 'namespace')), name, tier: undefined };
}

function noticeOf(type: Json): PacketObservation['notice'] {
  if (type === events.drop) return 'drop';
  return type === events.verdict ? 'verdict' : undefined;
}

/** The header of the transport, by the name of its protocol; others than these have no ports. */
function layer4(flow: Json): readonly [protocol: string, header: Json] {
  const l4 = at(flow, 'l4');
  const name = typeof l4 === 'object' && l4 !== null ? (Object.keys(l4)[0] ?? '') : '';
  return [name === 'ICMPv4' ? 'ICMP' : name, at(l4, name)];
}

function tcpFlags(flags: Json): number | undefined {
  if (typeof flags !== 'object' || flags === null) return undefined;
  return Object.entries(TcpFlag).reduce((bits, [name, bit]) => (at(flags, name) === true ? bits | bit : bits), 0);
}

/** Cilium counts the flows of a window in `aggregate`, Azure's builds in `extensions`. */
function countOf(flow: Json): number {
  const counts = [at(flow, 'aggregate'), at(flow, 'extensions')].map((part) =>
    ['ingress', 'egress', 'unknown_direction'].reduce((sum, way) => {
      const count = Number(at(part, `${way}_flow_count`) ?? 0);
      return isCount(count) ? sum + count : sum;
    }, 0),
  );
  return Math.max(1, ...counts);
}
