import { isLabel, isPlainInterface } from '../../base/platform/api-names.ts';
import type { FlowDetails } from '../../base/model/finding.ts';
import { connectFailure, kernelDrop } from '../../base/model/packet.ts';
import { adviseOnFirewall, adviseOnUfw, isProbe, type Own } from './host-firewall.ts';
import { isPacketTooBig, isShown, endpointName, showPolicy } from './names.ts';
import type { PolicyVerdict } from '../../base/model/policy-answer.ts';
import { adviseOnReason } from './reasons.ts';

interface Advice {
  applies: (details: FlowDetails, own: Own) => boolean;
  say: (details: FlowDetails, own: Own) => string;
  /** Replaces `say` if policies were asked and gave a certain answer. */
  sayAnswer?: (answer: PolicyVerdict, details: FlowDetails, own: Own) => string;
}

/** What a drop means and what to do. The first row that applies is used, so the most specific rows come first. */
const table: readonly Advice[] = [
  {
    applies: ({ dropReason }) => dropReason !== undefined,
    say: ({ dropReason = '', nextMtu, peer, direction, ownAddress, refusedBy }, { namespace, node }) => {
      const isMine = refusedBy === (direction === 'receiving' ? 'receiver' : 'sender');
      const service = peer.kind === 'service' ? peer.object : undefined;
      return adviseOnReason(dropReason, {
        namespace,
        ofServices: service?.namespace,
        service: service?.name,
        node,
        to: direction === 'sending' ? peer.address : ownAddress,
        mtu: nextMtu,
        refusing:
          refusedBy &&
          (isMine ? { name: 'this Pod', namespace } : { name: endpointName(peer), namespace: peer.object?.namespace }),
      });
    },
  },
  {
    applies: isForRoutersToReport,
    say: ({ error }) =>
      `Check what ${error ? endpointName(error.reporter) : ''} runs: it is a Pod, and only a router can report that. Unless it routes for others, the error is forged; change nothing.`,
  },
  {
    applies: ({ error }) => isTooBig(error) && !isPlausible(error),
    say: ({ error }) =>
      `Probably forged: hardly any link has an MTU of ${error?.mtu}. Change no MTU; find the sender of the error.`,
  },
  {
    applies: ({ error }) => isTooBig(error),
    say: ({ error }) =>
      `If genuine, large packets there are lost and connections hang: allow ${error?.protocol === 'ICMPv6' ? 'ICMPv6 type 2' : 'ICMP type 3 code 4'} to Pods, or ${error?.mtu ? `set the Pod MTU to ${error.mtu}` : 'lower the Pod MTU'}.`,
  },
  {
    applies: ({ error }) => error !== undefined,
    say: () =>
      'If genuine, the Pod waits for a timeout instead of failing at once: allow ICMP errors (conntrack state RELATED) to Pods.',
  },
  {
    applies: ({ martian, direction, ownAddressIsForeign }) => martian && direction === 'sending' && ownAddressIsForeign,
    say: () => `Look in this Pod for a fixed bind address, a VPN or spoofing: ${ownOnly}`,
  },
  {
    applies: ({ martian, direction, peer }) =>
      martian && direction === 'receiving' && peer.kind === 'pod' && peer.note !== undefined,
    say: ({ peer }) => `Look in ${endpointName(peer)} for a fixed bind address, a VPN or spoofing: ${ownOnly}`,
  },
  {
    applies: ({ martian, prefix }) => martian && prefix === 'martian destination',
    say: () => 'Check what sends to it: that destination cannot be routed (loopback, 0.0.0.0 or the like).',
  },
  {
    applies: ({ martian }) => martian,
    say: ({ path, logger }, { node }) => {
      const device = mayLoosen(path) ? path : 'that device';
      const loosen = mayLoosen(path) ? ` or, if this way is meant, set net/ipv4/conf/${path}/rp_filter to 2` : '';
      // The kernel logs the martian packets of Pods' own devices as well, often with the same name.
      const orPod = logger === kernelDrop ? '' : ' (or a Pod on it)';
      return `Not a policy: ${node || 'the node'}${orPod} has no route back to that source through ${device} (reverse-path filter). Asymmetric routing or a forged address: fix the route${loosen}.`;
    },
  },
  {
    applies: ({ enforcer, prefix }) => enforcer === 'host-firewall' && prefix.includes('UFW'),
    say: adviseOnUfw,
  },
  {
    applies: ({ enforcer }) => enforcer === 'host-firewall',
    say: adviseOnFirewall,
  },
  {
    applies: ({ clusterTier }) => clusterTier !== undefined,
    say: ({ clusterTier, direction, refusedBy, peer }) => {
      const isMine = refusedBy === (direction === 'receiving' ? 'receiver' : 'sender');
      const which =
        refusedBy === undefined
          ? ''
          : ` for ${refusedBy === 'receiver' ? 'ingress' : 'egress'} of ${isMine ? 'this Pod' : endpointName(peer)}`;
      return `Denied by a ClusterNetworkPolicy of tier ${clusterTier}${which}. Cluster admins: kubectl get clusternetworkpolicies.networking.k8s.aws -o yaml`;
    },
  },
  {
    applies: ({ reply }) => reply,
    say: () =>
      'The request passed, its answer did not. Cluster admins: check conntrack (entries lost or INVALID), asymmetric routes, and rules without ESTABLISHED.',
    sayAnswer: (answer, details, own) => (answer.outcome === 'denies' ? textOfVerdict(answer) : adviseOn(details, own)),
  },
  {
    applies: ({ peer, port, direction }) => direction === 'sending' && port === 53 && peer.role === 'dns',
    say: (details, own) =>
      `This Pod cannot resolve names. ${allowEgress('the cluster DNS, 53/UDP and 53/TCP', details, own)}`.trimEnd(),
    sayAnswer: (answer) =>
      `This Pod cannot resolve names. ${answer.outcome === 'denies' && answer.isOwn ? `${answer.text} Allow egress to the cluster DNS, 53/UDP and 53/TCP.` : textOfVerdict(answer)}`,
  },
  {
    applies: ({ peer }) => peer.role === 'metadata',
    say: () =>
      'SDKs hang while they look for credentials here, and many clusters deny this service on purpose: give the Pod its credentials another way, or allow it.',
  },
  {
    applies: ({ peer, port, direction }) =>
      direction === 'sending' && (peer.role === 'api-server' || (peer.kind === 'node' && port === 6443)),
    say: (details, own) =>
      `This Pod cannot reach the Kubernetes API. ${allowEgress('the API server', details, own)}`.trimEnd(),
    sayAnswer: (answer) => `This Pod cannot reach the Kubernetes API. ${textOfVerdict(answer)}`,
  },
  {
    applies: isProbe,
    say: (details, { namespace }) =>
      `If these are the kubelet's probes, this Pod stays unready: allow ingress from the node's address. ${check(namespace, details)}`,
    sayAnswer: (answer) => `${textOfVerdict(answer)} If these are the kubelet's probes, this Pod stays unready.`,
  },
  {
    applies: ({ logger }) => logger === connectFailure,
    say: (details, { namespace }) =>
      `When they failed, policies of one of the two ends denied them. ${check(namespace, details)}`,
    sayAnswer: textOfVerdict,
  },
  {
    applies: ({ logger }) => logger === kernelDrop,
    say: () =>
      "A netfilter rule dropped it; the kernel does not say which: a network policy's (most often), the node's firewall's, one for INVALID packets, or kube-proxy's for a Service without endpoints. Check the policies of both ends first.",
    sayAnswer: textOfVerdict,
  },
  {
    applies: ({ enforcer }) => enforcer === 'network-policy',
    say: (details, { namespace }) => policyAdvice(details, namespace),
    sayAnswer: textOfVerdict,
  },
  {
    applies: ({ enforcer, prefix, policy }) => enforcer === 'unknown' && prefix !== '' && policy === undefined,
    say: (_, { node }) =>
      `A rule of ${node || 'the node'} has that LOG prefix. Node admins: find it with iptables-save or nft list ruleset.`,
  },
];

function textOfVerdict({ text, act }: PolicyVerdict): string {
  return act === '' ? text : `${text} ${act}`;
}

const ownOnly = "Pods may send only from their own addresses (the node's reverse-path filter).";

const falseDrop = 'The agent of AWS also reports egress that it allowed: aws-network-policy-agent#582.';

function isOftenFalse({ logger, refusedBy }: FlowDetails): boolean {
  return logger === 'aws-network-policy-agent' && refusedBy === 'sender';
}

/** Only a node's device has packets from several routes, so a Pod's stays strict. A container may choose the name, so it must be safe. */
function mayLoosen(device: string): boolean {
  return isPlainInterface(device) && !/^(?:all$|default$|cali|eni|veth|lxc)/.test(device);
}

function isTooBig(error: FlowDetails['error']): boolean {
  return error !== undefined && isPacketTooBig(error.protocol, error.type, error.code);
}

/** The MTU of IPv4 is 576 at least (RFC 791), that of IPv6 1280 (RFC 8200). Old routers send 0 (RFC 1191). */
function isPlausible(error: FlowDetails['error']): boolean {
  const isFour = error?.protocol === 'ICMP';
  if (error?.mtu === undefined || (isFour && error.mtu === 0)) return true;
  return error.mtu >= (isFour ? 576 : 1280) && error.mtu <= 65_535;
}

/** A Pod can report about itself, but not about others or about links on the way. */
function isForRoutersToReport({ error, peer }: FlowDetails): boolean {
  if (error?.reporter.kind !== 'pod') return false;
  return isTooBig(error) || error.reporter.address !== peer.address || error.reporter.note !== undefined;
}

/** If the receiver refused the packet, a new egress policy would not help, and would isolate the Pod. */
function allowEgress(to: string, details: FlowDetails, { namespace }: Own): string {
  if (details.refusedBy === 'receiver') return policyAdvice(details, namespace);
  return `Allow egress to ${to}. ${check(namespace, details)}`;
}

function check(namespace: string, details: FlowDetails): string {
  return `Check: ${describeIn(namespace, details)}`;
}

function describeIn(namespace: string, { logger }: FlowDetails): string {
  return `kubectl -n ${namespace} describe ${logger === 'hubble' ? 'networkpolicy,ciliumnetworkpolicy' : 'networkpolicy'}`;
}

/** Returns '' if there is no advice. `answer`: the verdict of policies, if they were evaluated. */
export function adviseOn(details: FlowDetails, own: Own, answer?: PolicyVerdict): string {
  const row = table.find(({ applies }) => applies(details, own));
  const advice = row?.say(details, own) ?? '';
  if (answer === undefined) return advice;
  if (answer.outcome !== 'unknown' && row?.sayAnswer !== undefined) {
    const hint = answer.outcome === 'admits' && isOftenFalse(details) ? ` ${falseDrop}` : '';
    return row.sayAnswer(answer, details, own) + hint;
  }
  // Where the Pod's own policies admit, advice that names them too would be wrong.
  return answer.act !== '' || advice === '' ? textOfVerdict(answer) : `${answer.text} ${advice}`;
}

function policyAdvice(details: FlowDetails, namespace: string): string {
  const { direction, refusedBy, peer, policy, prefix } = details;
  // Policies of other Namespaces are not shown, so this one is the reader's own, or one of the whole cluster.
  if (policy !== undefined && isShown(policy))
    return `${policy.namespace === undefined ? 'Cluster admins' : 'Check'}: ${showPolicy(policy)}`;
  const peerNamespace = peer.object?.namespace ?? namespaceOfPods(peer.address);
  const receiving = direction === 'receiving';
  const [mine, theirs] = receiving ? (['ingress', 'egress'] as const) : (['egress', 'ingress'] as const);
  // A record without a prefix comes from a program that enforces policies, and names the policy that denied. An operator chooses a prefix,
  // and the rule after the LOG rule is not known.
  const denied = prefix === '' ? 'Denied by' : 'Probably denied by';
  const isNear = peerNamespace === namespace;
  if (refusedBy === undefined && peerNamespace !== undefined) {
    const either = `${denied} an ${mine} policy of this Pod or an ${theirs} policy of ${endpointName(peer)}. ${check(namespace, details)}`;
    return isNear ? either : `${either} (for ${endpointName(peer)}, ask the owners of namespace ${peerNamespace})`;
  }
  const isMine = refusedBy === undefined || refusedBy === (receiving ? 'receiver' : 'sender');
  if (isMine) return `${denied} an ${mine} policy of this Pod. ${check(namespace, details)}`;
  if (peerNamespace === undefined) {
    const who = peer.object ? endpointName(peer) : receiving ? 'the sender' : 'the receiver';
    return `${denied} an ${theirs} policy of ${who}. Ask the cluster admins.`;
  }
  const whose = `${denied} an ${theirs} policy of ${endpointName(peer)}.`;
  return isNear ? `${whose} ${check(namespace, details)}` : `${whose} Ask the owners of namespace ${peerNamespace}.`;
}

/** Of Pods that are not known, a log may tell the beginning of their names: `batch/worker-84f9d6c5bb-*`. */
function namespaceOfPods(address: string): string | undefined {
  const [, namespace = ''] = /^([^/]+)\/[^/]+\*$/.exec(address) ?? [];
  return isLabel(namespace) ? namespace : undefined;
}
