/** Reads formats of agents that filter packets on the node: of the AWS VPC CNI, and of kube-network-policies. */
import type { PacketPart, Unparsable } from '../../../base/model/observation.ts';
import type { ClusterTier, PacketObservation, Verdict } from '../../../base/model/packet.ts';
import { at, parsed } from '../../../base/platform/json.ts';
import { parseKlogJson, parseKlogText } from '../components/klog.ts';
import { fieldOf, observePacket, sideOf, unparsable } from './record.ts';

/**
 * Reads the network policy agent of the AWS VPC CNI, in its three forms: for CloudWatch, up to 1.2.1, and since:
 *
 *     Node: n;SIP: 10.0.0.1;SPORT: 1;DIP: 10.0.0.2;DPORT: 2;PROTOCOL: TCP;PolicyVerdict: DENY
 *     {"level":"info","msg":"Flow Info:  ","Src IP":"10.0.0.1","Src Port":1,"Dest IP":…,"Proto":"TCP","Verdict":"DENY"}
 *     {"level":"debug","msg":"Flow Info: Src IP: 10.0.0.1 Src Port: 1 Dest IP: … Dest Port: 2 Proto TCP Verdict DENY Direction egress, Tier NETWORK_POLICY"}
 */
export function parseAws(text: string): PacketObservation | Unparsable | undefined {
  const fields = sentence.test(text) ? readSemicolons(text) : awsJson.test(text) ? readFlowInfo(text) : undefined;
  if (!fields) return undefined;
  const verdict = verdicts.get(fields.get('verdict'));
  if (verdict === undefined) return unparsable(aws, `the verdict ${fields.get('verdict') ?? '(missing)'} is not known`);
  const protocol = fields.get('proto');
  const isKnown = protocol !== 'UNKNOWN';
  const dropReason = verdict === 'dropped' ? dropReasons.get(fields.get('tier')) : undefined;
  return observePacket({
    logger: aws,
    verdict,
    ...(dropReason !== undefined && { enforcer: 'unknown', dropReason }),
    source: fields.get('src ip'),
    destination: fields.get('dest ip'),
    protocol: isKnown ? protocol : undefined,
    // For a protocol without a name, the ports are 0.
    ...(isKnown && { sourcePort: fields.get('src port'), destinationPort: fields.get('dest port') }),
    policySide: sideOf(fields.get('direction')),
    clusterTier: clusterTiers.get(fields.get('tier')),
  });
}

// Only the beginning counts, because further on there may be text that a stranger has sent to another program.
const sentence = /^Node: [\w.-]{1,253};SIP: .{1,1024};PolicyVerdict: /;
const awsJson = /^\{.{0,1024}"msg":\s{0,4}"Flow Info/;

const aws = 'aws-network-policy-agent';

const verdicts = new Map<string | undefined, Verdict>([
  ['DENY', 'dropped'],
  ['ACCEPT', 'accepted'],
  ['EXPIRED/DELETED', 'accepted'],
]);

/** Tiers of packets that no policy denied. */
const dropReasons = new Map<string | undefined, string>([
  ['DEFAULT', 'Tier DEFAULT'],
  ['ERROR', 'Tier ERROR'],
]);

/** The tiers of ClusterNetworkPolicies. The log also has `NETWORK_POLICY`. */
const clusterTiers = new Map<string | undefined, ClusterTier>([
  ['ADMIN', 'Admin'],
  ['BASELINE', 'Baseline'],
]);

/** Translates the field names for CloudWatch into those of the other forms. */
const names: Record<string, string> = {
  sip: 'src ip',
  sport: 'src port',
  dip: 'dest ip',
  dport: 'dest port',
  protocol: 'proto',
  policyverdict: 'verdict',
};

function readSemicolons(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.slice(0, 2048).split(';')) {
    const found = /(\w{1,32}): (.*)$/s.exec(part);
    const key = found?.[1]?.toLowerCase() ?? '';
    if (found) fields.set(names[key] ?? key, (found[2] ?? '').trim());
  }
  return fields;
}

/** Matches a name and a value, each with or without quotes, and with a colon or only a space between them. */
const pair = /\b(Src IP|Src Port|Dest IP|Dest Port|Proto|Verdict|Direction|Tier)"?:?\s*"?([^",;}\s]+)/g;

function readFlowInfo(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [, key = '', value = ''] of text.slice(0, 4096).matchAll(pair)) fields.set(key.toLowerCase(), value);
  return fields;
}

/**
 * Reads kube-network-policies and kindnet, since 0.6, at `-v=2`. A packet has two records of klog, text or JSON: its content and its
 * verdict, both with the queue's number for it (pkg/networkpolicy/logging.go, pkg/dataplane/controller.go). A packet that passes egress has
 * a third record, for ingress. The last direction before the verdict is the one that denied:
 *
 *     I1123 09:53:52.257809 1 logging.go:67] "Evaluating packet" id=9 direction="Egress" srcPod="a/b" dstPod="external" packet=<
 *     	[9] 10.0.1.3:40243 10.0.2.2:8080 TCP
 *      >
 *     I1123 09:53:52.257990 1 controller.go:277] "Finished syncing packet" id=9 duration="171.5µs" verdict="drop"
 *     I1123 09:53:52.257990 1 controller.go:439] Finished syncing packet 9 took: 171.5µs accepted: false
 */
export function parseNfqueue(text: string): PacketPart | Unparsable | undefined {
  const isEvaluation = text.includes(evaluating);
  if (!isEvaluation && !text.includes(finished)) return undefined;
  const record = parseKlogText(text, undefined) ?? parseKlogJson(text, undefined);
  // These programs have other queues that filter nothing, and write the same sentences about them from other files.
  if (record === undefined || !callers.has(record.caller)) return undefined;
  const { message, fields } = record;
  if (isEvaluation && message.startsWith(evaluating)) return evaluationOf(fields['packet'] ?? message, fields);
  if (!message.startsWith(finished)) return undefined;
  const [, olderId, accepted] =
    /^Finished syncing packet (\d{1,10}) took: \S{1,40} accepted: (true|false)/.exec(message) ?? [];
  const verdict = outcomes.get(accepted ?? fields['verdict'] ?? '');
  const id = olderId ?? fields['id'];
  return verdict === undefined || id === undefined
    ? undefined
    : { kind: 'packet-part', logger: knp, id, part: verdict };
}

const knp = 'kube-network-policies';
const evaluating = 'Evaluating packet';
const finished = 'Finished syncing packet';
const callers = new Set(['controller.go', 'logging.go']);

const outcomes = new Map<string, Verdict>([
  ['drop', 'dropped'],
  ['false', 'dropped'],
  ['accept', 'accepted'],
  ['true', 'accepted'],
]);

/** Matches `[9] 10.0.1.3:40243 10.0.2.2:8080 TCP`. Go prints an IPv6 address without brackets, and no protocol except these three. */
const tuple =
  /\[(\d{1,10})\] ([\da-fA-F:.]{1,64}):(\d{1,5}) ([\da-fA-F:.]{1,64}):(\d{1,5}) (TCP|UDP|SCTP|)(?:\n|\\n|$)/;

function evaluationOf(packet: string, { direction }: Readonly<Record<string, string>>): PacketPart | Unparsable {
  const json = packet.startsWith('{') ? parsed(packet) : undefined;
  const [, id, source, sourcePort, destination, destinationPort, protocol] =
    json === undefined
      ? (tuple.exec(packet) ?? [])
      : ['', ...['ID', 'SrcIP', 'SrcPort', 'DstIP', 'DstPort', 'Proto'].map((key) => fieldOf(at(json, key)))];
  if (id === undefined) return unparsable(knp, 'the record names no packet by number, addresses and ports');
  const known = protocol === '' ? undefined : protocol;
  const part = observePacket({
    logger: knp,
    verdict: 'logged',
    policySide: sideOf(direction),
    source,
    destination,
    protocol: known,
    ...(known !== undefined && { sourcePort, destinationPort }),
  });
  return part.kind === 'packet' ? { kind: 'packet-part', logger: knp, id: String(id), part } : part;
}
