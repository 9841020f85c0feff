import type { Unparsable } from '../../../base/model/observation.ts';
import type { PacketObservation, PolicyName, Verdict } from '../../../base/model/packet.ts';
import { isLabel, isSubdomain } from '../../../base/platform/api-names.ts';
import { at, type Json, list, parsedBytes, text as textIn } from '../../../base/platform/json.ts';
import { fieldOf, isCount, observePacket, unparsable } from './record.ts';

/**
 * Reads `action: Log` of Calico's eBPF data plane (felix/bpf-gpl/skb.h), with the verdict of all policies together:
 *
 *     cali8d1e69e5f89-I: policy DENIED  proto 6 src 10.65.0.2:43553 dest 10.65.0.3:8055
 *
 *     cali8d1e69e5f89-I: policy DENIED  proto 58 src [fd00:0010:0065:0000:0000:0000:0000:0002]:0 dest [fd00:0010:0065:0000:0000:0000:0000:0003]:128
 *
 * The letter after the device is the direction of the policies: I ingress, E egress, X ingress of the host before conntrack. Of ICMP the last
 * number is the type, and 256 times the code.
 */
const bpfLine =
  /^(\S{1,15})-([IEX]): policy (ALLOWED|DENIED) {1,2}proto (\d{1,3}) src ([\d.]{7,15}|\[[\da-f:]{2,39}\]):(\d{1,5}) dest ([\d.]{7,15}|\[[\da-f:]{2,39}\]):(\d{1,5})$/;

export function parseCalicoBpf(text: string): PacketObservation | Unparsable | undefined {
  const [found, device = '', direction, verdict, protocol, source, sourcePort, destination, destinationPort] =
    bpfLine.exec(text) ?? [];
  if (found === undefined) return undefined;
  // The device of a Pod is the node's end of it, so a packet to the Pod leaves the node there.
  const isIn = device.startsWith('cali') === (direction === 'E');
  const icmp = protocol === '1' || protocol === '58' ? Number(destinationPort) : undefined;
  return observePacket({
    logger: 'calico-bpf',
    verdict: verdict === 'DENIED' ? 'dropped' : 'accepted',
    policySide: direction === 'E' ? 'sender' : 'receiver',
    inInterface: isIn ? device : '',
    outInterface: isIn ? '' : device,
    source: withoutBrackets(source),
    sourcePort,
    destination: withoutBrackets(destination),
    destinationPort,
    icmpType: icmp === undefined ? undefined : icmp & 0xff,
    icmpCode: icmp === undefined ? undefined : icmp >> 8,
    protocol,
  });
}

function withoutBrackets(address = ''): string {
  return address.replaceAll(/[[\]]/g, '');
}

/**
 * Reads a flow of one interval as Calico's Felix reports it to Goldmane (goldmane/proto/api.proto), one object a line. It has no addresses:
 * Pods that share a `generateName` have one name, and other ends have one such as `public network`.
 *
 *     {"Key":{"source_name":"client-7c9f-*","source_namespace":"shop","source_type":"WorkloadEndpoint","dest_name":"db-*",
 *      "dest_namespace":"shop","dest_type":"WorkloadEndpoint","dest_port":5432,"proto":"tcp","reporter":"Dst","action":"Deny",
 *      "policies":{"enforced_policies":[{"kind":"EndOfTier","action":"Deny","trigger":{"kind":"NetworkPolicy",…}}]}},
 *      "start_time":1795226670,"packets_in":3}
 */
export function parseCalicoFlow(text: string): PacketObservation | Unparsable | undefined {
  if (!text.startsWith('{') || !text.includes('"source_type":')) return undefined;
  const flow = parsedBytes(text);
  if (flow === undefined) return unparsable(flowLogger, 'the JSON is damaged or cut off');
  const key = at(flow, 'Key');
  // Other programs have fields with this name, too.
  if (at(key, 'dest_type') === undefined || at(key, 'reporter') === undefined) return undefined;
  const action = String(fieldOf(at(key, 'action')) ?? '(missing)');
  const verdict = verdicts.get(action);
  if (verdict === undefined) return unparsable(flowLogger, `the action ${action.slice(0, 60)} is not known`);
  const source = endName(at(key, 'source_type'), at(key, 'source_namespace'), at(key, 'source_name'));
  const destination = endName(at(key, 'dest_type'), at(key, 'dest_namespace'), at(key, 'dest_name'));
  if (source === undefined || destination === undefined)
    return unparsable(
      flowLogger,
      `the ${source === undefined ? 'source' : 'destination'} is not a Pod, host or network`,
    );
  const repeat = packetsOf(flow);
  // Felix still reports a flow for some intervals after its last packet.
  if (repeat === 0) return undefined;
  return observePacket({
    logger: flowLogger,
    verdict,
    policy: verdict === 'accepted' ? undefined : deniedBy(at(key, 'policies', 'enforced_policies')),
    policySide: sides.get(at(key, 'reporter')),
    source,
    destination,
    isNamed: true,
    protocol: fieldOf(at(key, 'proto')),
    destinationPort: fieldOf(at(key, 'dest_port')),
    repeat,
  });
}

const flowLogger = 'calico-flow';

const verdicts = new Map<string, Verdict>([
  ['Deny', 'dropped'],
  ['Allow', 'accepted'],
]);

/** The end whose policies decided: the reporting node is the sender's or the receiver's. */
const sides = new Map<unknown, PacketObservation['policySide']>([
  ['Src', 'sender'],
  ['Dst', 'receiver'],
]);

function endName(type: Json, namespace: Json, name: Json): string | undefined {
  if (typeof name !== 'string') return undefined;
  const space = typeof namespace === 'string' && isLabel(namespace) ? `${namespace}/` : '';
  switch (type) {
    case 'WorkloadEndpoint':
      return space !== '' && isPodNames(name) ? `${space}${name}` : undefined;
    case 'HostEndpoint':
      return isSubdomain(name) ? `Node ${name}` : undefined;
    case 'NetworkSet':
      return isSubdomain(name) ? `${space === '' ? 'GlobalNetworkSet' : 'NetworkSet'} ${space}${name}` : undefined;
    case 'Network':
      return name === 'pub' ? 'public network' : 'private network';
    default:
      return undefined;
  }
}

/** Returns whether the text is the name of a Pod, or a `generateName` with `*`. */
function isPodNames(name: string): boolean {
  return isSubdomain(name) || (name.endsWith('*') && isSubdomain(name.slice(0, -1).replace(/[-.]$/, '')));
}

/** Returns the number of packets, or else of connections, because some versions count no packets if all connections were denied. */
function packetsOf(flow: Json): number {
  const [incoming = 0, outgoing = 0, connections = 0] = ['packets_in', 'packets_out', 'num_connections_started'].map(
    (name) => Number(at(flow, name) ?? 0),
  );
  return [incoming + outgoing, connections].find((count) => isCount(count) && count > 0) ?? 0;
}

/** Returns the policy whose rule denied the flow; if no rule matched, the first policy that selects the Pod. */
function deniedBy(policies: Json): PolicyName | undefined {
  const denial = list(policies).find((hit) => at(hit, 'action') === 'Deny');
  const policy = at(denial, 'kind') === 'EndOfTier' ? at(denial, 'trigger') : denial;
  const kind = kinds.get(at(policy, 'kind'));
  const name = textIn(at(policy, 'name'));
  if (kind === undefined || name === undefined) return undefined;
  const tier = kind === 'NetworkPolicy' ? undefined : textIn(at(policy, 'tier')) || undefined;
  return { kind, namespace: textIn(at(policy, 'namespace')) || undefined, name, tier };
}

const kinds = new Map<unknown, string>([
  ['CalicoNetworkPolicy', 'NetworkPolicy.projectcalico.org'],
  ['GlobalNetworkPolicy', 'GlobalNetworkPolicy'],
  ['NetworkPolicy', 'NetworkPolicy'],
  ['ClusterNetworkPolicy', 'ClusterNetworkPolicy'],
]);
