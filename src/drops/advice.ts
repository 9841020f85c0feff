import { isLabel, isPlainInterface, isSubdomain } from '../platform/api-names.ts';
import type { FlowDetails } from '../model/finding.ts';
import type { PolicyName } from '../model/packet.ts';
import { nameOf } from './endpoint-name.ts';
import { isPacketTooBig } from './icmp-names.ts';

interface Own {
  namespace: string;
  node: string;
}

interface Advice {
  applies: (details: FlowDetails, own: Own) => boolean;
  say: (details: FlowDetails, own: Own) => string;
}

/** What a drop means and what to do about it. The first row that applies gives the advice, so the most specific stand first. */
const table: readonly Advice[] = [
  {
    applies: isForRoutersToReport,
    say: ({ error }) =>
      `Only a router can know that, and ${error ? nameOf(error.reporter) : ''} is a Pod: unless it routes for others, the error is forged. Look at what it runs, and change nothing before.`,
  },
  {
    applies: ({ error }) => isTooBig(error) && !isPlausible(error),
    say: ({ error }) =>
      `No link is likely to take at most ${error?.mtu} bytes, so the error is probably forged: change no MTU for it, and look for who sends it.`,
  },
  {
    applies: ({ error }) => isTooBig(error),
    say: ({ error, peer }) =>
      `If that is true, path-MTU discovery is broken: small packets arrive, large ones to ${peer.address} vanish and connections hang. ` +
      `Allow ${error?.protocol === 'ICMPv6' ? 'ICMPv6 type 2' : 'ICMP type 3 code 4'} to Pods, or lower the MTU of Pods${error?.mtu ? ` to ${error.mtu}` : ''}.`,
  },
  {
    applies: ({ error }) => error !== undefined,
    say: () =>
      'If that is true, the Pod waits for a time-out instead of failing at once. Allow ICMP errors (conntrack state RELATED) to Pods.',
  },
  {
    applies: ({ martian, direction, ownAddressIsForeign }) => martian && direction === 'sending' && ownAddressIsForeign,
    say: () =>
      "The kernel's reverse-path filter refused it, as it should: a Pod may send from its own addresses only. Look at what this Pod runs.",
  },
  {
    applies: ({ martian, direction, peer }) =>
      martian && direction === 'receiving' && peer.kind === 'pod' && peer.note !== undefined,
    say: () => "The kernel's reverse-path filter refused it, as it should: a Pod may send from its own addresses only.",
  },
  {
    applies: ({ martian, prefix }) => martian && prefix === 'martian destination',
    say: () =>
      'The destination is no address that can be routed there (loopback, 0.0.0.0 or the like): look at what sends to it.',
  },
  {
    applies: ({ martian }) => martian,
    say: ({ path }) =>
      `The kernel's reverse-path filter refused it: by its routes that source cannot be behind ${isLoosened(path) ? path : 'that device'}. Fix the route back` +
      (isLoosened(path) ? `; if it comes another way on purpose, loosen net/ipv4/conf/${path}/rp_filter to 2.` : '.'),
  },
  {
    applies: ({ enforcer, prefix }) => enforcer === 'host-firewall' && prefix.includes('UFW'),
    say: (details, own) =>
      `The host's own firewall, ufw, did this, not a NetworkPolicy.${probes(details, own)} ${letThroughUfw(details)}, or turn it off on nodes.`,
  },
  {
    applies: ({ enforcer }) => enforcer === 'host-firewall',
    say: (details, own) =>
      `The host's own firewall did this, not a NetworkPolicy; often since a reload, which puts its rules before those of the CNI plugin.${probes(details, own)} ` +
      "Let it accept forwarded Pod traffic (firewalld: put the Pods' range into the zone trusted), or turn it off on nodes.",
  },
  {
    applies: ({ reply }) => reply,
    say: () =>
      'The request got through and its answer did not: look for conntrack state lost or INVALID, asymmetric routes, or a rule without ESTABLISHED.',
  },
  {
    applies: ({ peer, port, direction }) => direction === 'sending' && port === 53 && peer.role === 'dns',
    say: (_, { namespace }) =>
      `This Pod cannot look up names. Allow egress to the cluster DNS on port 53, UDP and TCP: kubectl -n ${namespace} describe networkpolicy`,
  },
  {
    applies: ({ peer }) => peer.role === 'metadata',
    say: () =>
      'Many clusters forbid Pods the metadata service on purpose; SDKs then hang while looking for credentials. Give the Pod its credentials another way, or allow it.',
  },
  {
    applies: ({ peer, port, direction }) =>
      direction === 'sending' && (peer.role === 'api-server' || (peer.kind === 'node' && port === 6443)),
    say: (_, { namespace }) =>
      `This Pod cannot reach the Kubernetes API. Allow egress to the API server: kubectl -n ${namespace} describe networkpolicy`,
  },
  {
    applies: isProbe,
    say: (_, { namespace }) =>
      `Traffic from nodes carries the kubelet's probes: without it the Pod stays unready. Allow it from the nodes' addresses: kubectl -n ${namespace} describe networkpolicy`,
  },
  {
    applies: ({ enforcer, verdict }) => enforcer === 'network-policy' && verdict === 'dropped',
    say: (details, { namespace }) => policyAdvice(details, namespace),
  },
];

/** A device of the node that more than one way may lead to. A Pod's must stay strict, and a container names its own as it likes. */
function isLoosened(device: string): boolean {
  return isPlainInterface(device) && !/^(?:all$|default$|cali|eni|veth|lxc)/.test(device);
}

function isTooBig(error: FlowDetails['error']): boolean {
  return error !== undefined && isPacketTooBig(error.protocol, error.type, error.code);
}

/** At least what every IPv4 host takes (RFC 791) and every IPv6 link (RFC 8200). Old routers send 0, for not known (RFC 1191). */
function isPlausible(error: FlowDetails['error']): boolean {
  const isFour = error?.protocol === 'ICMP';
  if (error?.mtu === undefined || (isFour && error.mtu === 0)) return true;
  return error.mtu >= (isFour ? 576 : 1280) && error.mtu <= 65_535;
}

/** A Pod can answer for itself, but neither for others nor for the links on the way. */
function isForRoutersToReport({ error, peer }: FlowDetails): boolean {
  if (error?.reporter.kind !== 'pod') return false;
  return isTooBig(error) || error.reporter.address !== peer.address || error.reporter.note !== undefined;
}

/** What its own node sends to a Pod is mostly the kubelet's probes. */
function isProbe({ peer, direction }: FlowDetails, own: Own): boolean {
  return direction === 'receiving' && peer.kind === 'node' && peer.object?.name === own.node;
}

/** What is routed, what is for the node itself and what the node sends are policies of their own (ufw(8)). */
function letThroughUfw({ path }: FlowDetails): string {
  if (path.endsWith('→ this node')) return 'Let it accept what Pods send to the node (ufw allow from POD_RANGE)';
  if (path.startsWith('this node →')) return 'Let it pass what the node sends to Pods (ufw allow out to POD_RANGE)';
  return 'Let it route Pod traffic (ufw default allow routed)';
}

function probes(details: FlowDetails, own: Own): string {
  return isProbe(details, own)
    ? " From the Pod's own node these are probably the kubelet's probes: without them it stays unready."
    : '';
}

/** What `kubectl` calls the kinds of Antrea's log: their own names are those of others, too. */
const resources = new Map([
  ['AntreaNetworkPolicy', 'networkpolicies.crd.antrea.io'],
  ['AntreaClusterNetworkPolicy', 'clusternetworkpolicies.crd.antrea.io'],
]);

/** Policies' names come from logs: only what may name an object goes into a command. */
function isShown({ kind, namespace, name }: PolicyName): boolean {
  if (kind !== undefined && !/^[A-Za-z][\w.-]{0,252}$/.test(kind)) return false;
  return namespace === undefined ? kind !== undefined || isSubdomain(name) : isLabel(namespace);
}

/** The command that shows a policy; Calico's own kinds are best shown by its own tool. */
function showPolicy({ kind: given, namespace, name }: PolicyName): string {
  const kind = resources.get(given ?? '') ?? given;
  const object = isSubdomain(name) ? ` ${name}` : '';
  const where = namespace === undefined ? '' : ` -n ${namespace}`;
  if (kind === undefined || kind === 'NetworkPolicy') return `kubectl${where} describe networkpolicy${object}`;
  if (/^(?:Staged|Global)|calico/.test(kind))
    return `calicoctl get ${kind.replace(/\..*/, '').toLowerCase()}${object}${where} -o yaml`;
  return `kubectl${where} get ${kind.toLowerCase()}${object} -o yaml`;
}

/** '' where no advice is true of every such drop. */
export function adviseOn(details: FlowDetails, own: Own): string {
  return table.find((row) => row.applies(details, own))?.say(details, own) ?? '';
}

function policyAdvice(details: FlowDetails, namespace: string): string {
  const { direction, refusedBy, peer, policy } = details;
  if (policy !== undefined && isShown(policy)) return `If it should pass: ${showPolicy(policy)}`;
  const peerNamespace = peer.object?.namespace;
  const receiving = direction === 'receiving';
  const mine = receiving ? 'ingress' : 'egress';
  const theirs = receiving ? 'egress' : 'ingress';
  const isMine = refusedBy === (receiving ? 'receiver' : 'sender');
  if (refusedBy === undefined && peerNamespace !== undefined) {
    if (peerNamespace === namespace) {
      return `If it should pass, allow it in the ${mine} rules for this Pod and the ${theirs} rules for its peer: kubectl -n ${namespace} describe networkpolicy`;
    }
    return `If it should pass, allow it in the ${mine} rules for this Pod (kubectl -n ${namespace} describe networkpolicy) and the ${theirs} rules of its peer (kubectl -n ${peerNamespace} describe networkpolicy).`;
  }
  if (refusedBy !== undefined && !isMine) {
    if (peerNamespace === undefined) return '';
    return `The ${theirs} rules for ${nameOf(peer)} refused it: kubectl -n ${peerNamespace} describe networkpolicy`;
  }
  return `No ${mine} rule for this Pod allows it: kubectl -n ${namespace} describe networkpolicy`;
}
