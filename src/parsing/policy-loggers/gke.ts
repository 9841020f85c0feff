import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation, Verdict } from '../../model/packet.ts';
import { at, parsedBytes } from '../../platform/json.ts';
import { fieldOf, isCount, observePacket, podName } from './record.ts';

/**
 * Network policy logging of GKE Dataplane V2, keys in any order. Denied connections of five seconds are one line; it names no policy:
 *
 *     {"connection":{"src_ip":"10.84.1.8","dest_ip":"10.84.0.11","src_port":45084,"dest_port":8080,"protocol":"tcp","direction":"ingress"},
 *      "disposition":"deny","src":{…},"dest":{…},"count":3,"node_name":"n","timestamp":"2020-06-13T21:30:22.292379064Z"}
 */
export function parseGke(text: string): PacketObservation | Unparsable | undefined {
  if (!text.startsWith('{') || !text.includes('"disposition":"')) return undefined;
  const line = parsedBytes(text);
  if (line === undefined) return { kind: 'unparsable', format: logger, reason: 'the JSON is damaged or cut off' };
  const connection = at(line, 'connection');
  // Other programs have dispositions, too.
  if (at(connection, 'src_ip') === undefined || at(connection, 'dest_ip') === undefined) return undefined;
  const disposition = String(fieldOf(at(line, 'disposition')) ?? '(missing)');
  const verdict = verdicts.get(disposition);
  if (verdict === undefined)
    return { kind: 'unparsable', format: logger, reason: `the disposition ${disposition.slice(0, 60)} is not known` };
  const count = Number(at(line, 'count') ?? 1);
  return observePacket({
    logger,
    verdict,
    policySide: sides.get(at(connection, 'direction')),
    sourceName: podName(at(line, 'src', 'pod_namespace'), at(line, 'src', 'pod_name')),
    destinationName: podName(at(line, 'dest', 'pod_namespace'), at(line, 'dest', 'pod_name')),
    source: fieldOf(at(connection, 'src_ip')),
    destination: fieldOf(at(connection, 'dest_ip')),
    protocol: fieldOf(at(connection, 'protocol')),
    sourcePort: fieldOf(at(connection, 'src_port')),
    destinationPort: fieldOf(at(connection, 'dest_port')),
    repeat: isCount(count) ? Math.max(1, count) : 1,
  });
}

const logger = 'gke-policy-action';

const verdicts = new Map<string, Verdict>([
  ['deny', 'dropped'],
  ['allow', 'accepted'],
]);

/** Policies for ingress are those of the receiver. */
const sides = new Map<unknown, PacketObservation['policySide']>([
  ['ingress', 'receiver'],
  ['egress', 'sender'],
]);
