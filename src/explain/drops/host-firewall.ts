/** Says what to do about a packet that the node's own firewall dropped. */
import type { FlowDetails } from '../../base/model/finding.ts';

/** The Namespace and the node of the Pod that has the Event. */
export interface Own {
  namespace: string;
  node: string;
}

export function adviseOnUfw(details: FlowDetails, own: Own): string {
  return `Dropped by ufw on ${own.node || 'the node'}, not by a NetworkPolicy.${probes(details, own)} Node admins: ${letThroughUfw(details)}`;
}

export function adviseOnFirewall(details: FlowDetails, own: Own): string {
  return `That is the node's own firewall, not a NetworkPolicy; a reload often causes this.${probes(details, own)} Node admins: allow ${chainOf(details).join(' ')} ${details.podRange ?? 'the Pod range'}, then restart the CNI Pod.`;
}

/** Probes by HTTP, TCP and gRPC all use TCP. */
export function isProbe({ peer, direction, protocol }: FlowDetails, own: Own): boolean {
  return direction === 'receiving' && protocol === 'TCP' && peer.kind === 'node' && peer.object?.name === own.node;
}

/**
 * Names the chain that dropped the packet, and on which side of it the Pods are: a rule for another way does not let the packet through.
 * A packet that is logged before or after its routing also has only one device, but is forwarded.
 */
function chainOf({ path, direction, peer }: FlowDetails): ['input' | 'output' | 'forwarding', 'from' | 'to'] {
  const [isReceiving, isOfPods] = [direction === 'receiving', peer.kind === 'pod'];
  if (path.endsWith('→ this node') && !isReceiving && !isOfPods) return ['input', 'from'];
  if (path.startsWith('this node →') && isReceiving && !isOfPods) return ['output', 'to'];
  return ['forwarding', isReceiving && !isOfPods ? 'to' : 'from'];
}

/** ufw has separate policies for packets that are routed, go to the node or leave it (ufw(8)). */
function letThroughUfw(details: FlowDetails): string {
  const [chain, side] = chainOf(details);
  const command = `ufw ${{ input: 'allow', output: 'allow out', forwarding: 'route allow' }[chain]} ${side}`;
  return details.podRange === undefined
    ? `allow it by "${command}" and the Pod range.`
    : `${command} ${details.podRange}`;
}

function probes(details: FlowDetails, own: Own): string {
  return isProbe(details, own) ? " These are probably the kubelet's probes: without them this Pod stays unready." : '';
}
