import type { PacketPart, Unparsable } from '../../model/observation.ts';
import type { PacketObservation, Verdict } from '../../model/packet.ts';
import { at, parsed } from '../../platform/json.ts';
import { parseKlogJson, parseKlogText } from '../components/klog.ts';
import { fieldOf, observePacket } from './record.ts';

/**
 * kube-network-policies and kindnet, from 0.6 on, at `-v=2`: what a packet is and what became of it are two records of klog, text or
 * JSON, with the number that the queue gave the packet (pkg/networkpolicy/logging.go, pkg/dataplane/controller.go). Of a packet that passes
 * egress there is a third, for ingress:
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
  // Other queues of these programs, which judge nothing, write the same sentences from other files.
  if (record === undefined || !callers.has(record.caller)) return undefined;
  const { message, fields } = record;
  if (isEvaluation && message.startsWith(evaluating)) return evaluationOf(fields['packet'] ?? message, fields);
  if (!message.startsWith(finished)) return undefined;
  const [, olderId, accepted] =
    /^Finished syncing packet (\d{1,10}) took: \S{1,40} accepted: (true|false)/.exec(message) ?? [];
  const verdict = verdicts.get(accepted ?? fields['verdict'] ?? '');
  const id = olderId ?? fields['id'];
  return verdict === undefined || id === undefined ? undefined : { kind: 'packet-part', logger, id, part: verdict };
}

const logger = 'kube-network-policies';
const evaluating = 'Evaluating packet';
const finished = 'Finished syncing packet';
const callers = new Set(['controller.go', 'logging.go']);

const verdicts = new Map<string, Verdict>([
  ['drop', 'dropped'],
  ['false', 'dropped'],
  ['accept', 'accepted'],
  ['true', 'accepted'],
]);

/** Where the packet is dropped, the last direction that was evaluated is the one that denied it. */
const sides = new Map<string | undefined, PacketObservation['policySide']>([
  ['Egress', 'sender'],
  ['Ingress', 'receiver'],
]);

/** `[9] 10.0.1.3:40243 10.0.2.2:8080 TCP`; Go prints an IPv6 address without brackets, and no protocol but these three. */
const tuple =
  /\[(\d{1,10})\] ([\da-fA-F:.]{1,64}):(\d{1,5}) ([\da-fA-F:.]{1,64}):(\d{1,5}) (TCP|UDP|SCTP|)(?:\n|\\n|$)/;

function evaluationOf(packet: string, { direction }: Readonly<Record<string, string>>): PacketPart | Unparsable {
  const json = packet.startsWith('{') ? parsed(packet) : undefined;
  const [, id, source, sourcePort, destination, destinationPort, protocol] =
    json === undefined
      ? (tuple.exec(packet) ?? [])
      : ['', ...['ID', 'SrcIP', 'SrcPort', 'DstIP', 'DstPort', 'Proto'].map((key) => fieldOf(at(json, key)))];
  if (id === undefined)
    return { kind: 'unparsable', format: logger, reason: 'the record names no packet by number, addresses and ports' };
  const known = protocol === '' ? undefined : protocol;
  const part = observePacket({
    logger,
    verdict: 'logged',
    policySide: sides.get(direction),
    source,
    destination,
    protocol: known,
    ...(known !== undefined && { sourcePort, destinationPort }),
  });
  return part.kind === 'packet' ? { kind: 'packet-part', logger, id: String(id), part } : part;
}
