import { isPlainInterface } from '../../base/platform/api-names.ts';
import type { FlowDetails } from '../../base/model/finding.ts';
import { kernelDrop } from '../../base/model/packet.ts';
import { isPacketTooBig, isShown, nameOf, showPolicy } from './names.ts';
import type { PolicyVerdict } from './policy-verdict.ts';
import { adviseOnReason } from './reasons.ts';

/** The Namespace and the node of the Pod that has the Event. */
interface Own {
  namespace: string;
  node: string;
}

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
    say: ({ dropReason = '', nextMtu, peer }, { namespace }) =>
      adviseOnReason(dropReason, {
        namespace,
        ofServices: peer.kind === 'service' ? peer.object?.namespace : undefined,
        mtu: nextMtu,
      }),
  },
  {
    applies: isForRoutersToReport,
    say: ({ error }) =>
      `Check what ${error ? nameOf(error.reporter) : ''} runs, and change nothing before: only a router can know that, and this is a Pod. Unless it routes for others, the error is forged.`,
  },
  {
    applies: ({ error }) => isTooBig(error) && !isPlausible(error),
    say: ({ error }) =>
      `Find its sender, and change no MTU for it: no link is likely to take at most ${error?.mtu} bytes, so the error is probably forged.`,
  },
  {
    applies: ({ error }) => isTooBig(error),
    say: ({ error, peer }) =>
      `Allow ${error?.protocol === 'ICMPv6' ? 'ICMPv6 type 2' : 'ICMP type 3 code 4'} to Pods, or lower the MTU of Pods${error?.mtu ? ` to ${error.mtu}` : ''}. ` +
      `If the error is genuine, large packets to ${peer.address} are lost and connections hang.`,
  },
  {
    applies: ({ error }) => error !== undefined,
    say: () =>
      'Allow ICMP errors (conntrack state RELATED) to Pods. If the error is genuine, the Pod waits for a time-out instead of failing at once.',
  },
  {
    applies: ({ martian, direction, ownAddressIsForeign }) => martian && direction === 'sending' && ownAddressIsForeign,
    say: () =>
      "Check what this Pod runs: a Pod may send from its own addresses only, so the kernel's reverse-path filter refused it.",
  },
  {
    applies: ({ martian, direction, peer }) =>
      martian && direction === 'receiving' && peer.kind === 'pod' && peer.note !== undefined,
    say: ({ peer }) =>
      `Check what ${nameOf(peer)} runs: a Pod may send from its own addresses only, so the kernel's reverse-path filter refused it.`,
  },
  {
    applies: ({ martian, prefix }) => martian && prefix === 'martian destination',
    say: () => 'Check what sends to it: the destination cannot be routed there (loopback, 0.0.0.0 or the like).',
  },
  {
    applies: ({ martian }) => martian,
    say: ({ path }) =>
      `Fix the route back: by the node's routes that source cannot be behind ${mayLoosen(path) ? path : 'that device'}, so the kernel's reverse-path filter refused it.` +
      (mayLoosen(path)
        ? ` If it comes another way on purpose, set net/ipv4/conf/${path}/rp_filter to 2, which checks forged sources less strictly.`
        : ''),
  },
  {
    applies: ({ enforcer, prefix }) => enforcer === 'host-firewall' && prefix.includes('UFW'),
    say: (details, own) =>
      `Dropped by ufw on the node, not by a NetworkPolicy. ${letThroughUfw(details)}. ${probes(details, own)}${unlessProtected('ufw')}`,
  },
  {
    applies: ({ enforcer }) => enforcer === 'host-firewall',
    say: (details, own) =>
      `This is the node's own firewall, no NetworkPolicy. Allow ${wayOf(details).join(' ')} the Pod range there. ${probes(details, own)}${unlessProtected('the firewall')} ` +
      'A reload often puts its rules before those of the CNI plugin.',
  },
  {
    applies: ({ clusterTier }) => clusterTier !== undefined,
    say: ({ clusterTier, direction, refusedBy, peer }) => {
      const isMine = refusedBy === (direction === 'receiving' ? 'receiver' : 'sender');
      const which =
        refusedBy === undefined
          ? ''
          : ` for ${refusedBy === 'receiver' ? 'ingress' : 'egress'} of ${isMine ? 'this Pod' : nameOf(peer)}`;
      return `Denied by a ClusterNetworkPolicy of the tier ${clusterTier}${which}. Check: kubectl get clusternetworkpolicies.networking.k8s.aws -o yaml`;
    },
  },
  {
    applies: ({ reply }) => reply,
    say: () =>
      'Check conntrack (entries lost or INVALID), asymmetric routes, and rules without ESTABLISHED: the request passed, its answer did not.',
    sayAnswer: (answer, details, own) => (answer.outcome === 'denies' ? answer.text : adviseOn(details, own)),
  },
  {
    applies: ({ peer, port, direction }) => direction === 'sending' && port === 53 && peer.role === 'dns',
    say: (details, own) =>
      `This Pod cannot resolve names. ${allowEgress('the cluster DNS on port 53, UDP and TCP', details, own)}`.trimEnd(),
    sayAnswer: ({ text, outcome, isOwn }) =>
      `This Pod cannot resolve names. ${text}${outcome === 'denies' && isOwn ? ' Allow egress to the cluster DNS on port 53, UDP and TCP.' : ''}`,
  },
  {
    applies: ({ peer }) => peer.role === 'metadata',
    say: () =>
      'Give the Pod its credentials another way, or allow it: many clusters deny the metadata service on purpose, and SDKs then hang while they look for credentials.',
  },
  {
    applies: ({ peer, port, direction }) =>
      direction === 'sending' && (peer.role === 'api-server' || (peer.kind === 'node' && port === 6443)),
    say: (details, own) =>
      `This Pod cannot reach the Kubernetes API. ${allowEgress('the API server', details, own)}`.trimEnd(),
    sayAnswer: ({ text }) => `This Pod cannot reach the Kubernetes API. ${text}`,
  },
  {
    applies: isProbe,
    say: (details, { namespace }) =>
      `Allow ingress from the nodes' addresses: ${describeIn(namespace, details)} (without the kubelet's probes this Pod stays unready)`,
    sayAnswer: ({ text }) => `${text} Without the kubelet's probes this Pod stays unready.`,
  },
  {
    applies: ({ logger }) => logger === kernelDrop,
    say: () =>
      "A rule of this node dropped it, and the kernel does not say which: a network policy's, the node's own firewall's, one for packets that conntrack calls INVALID, or kube-proxy's for a Service without endpoints.",
    sayAnswer: ({ text }) => text,
  },
  {
    applies: ({ enforcer, verdict }) => enforcer === 'network-policy' && verdict === 'dropped',
    say: (details, { namespace }) => policyAdvice(details, namespace),
    sayAnswer: ({ text }) => text,
  },
];

const falseDrop = 'The agent of AWS also reports egress that it admitted: aws-network-policy-agent#582.';

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

function isProbe({ peer, direction }: FlowDetails, own: Own): boolean {
  return direction === 'receiving' && peer.kind === 'node' && peer.object?.name === own.node;
}

function unlessProtected(firewall: string): string {
  return `Disable ${firewall} only if something else protects the node.`;
}

/**
 * Names the chain that dropped the packet, and on which side of it the Pods are: a rule for another way does not let the packet through.
 * A packet that is logged before or after its routing has only one device, too, but is forwarded.
 */
function wayOf({ path, direction, peer }: FlowDetails): ['input' | 'output' | 'forwarding', 'from' | 'to'] {
  const [isReceiving, isOfPods] = [direction === 'receiving', peer.kind === 'pod'];
  if (path.endsWith('→ this node') && !isReceiving && !isOfPods) return ['input', 'from'];
  if (path.startsWith('this node →') && isReceiving && !isOfPods) return ['output', 'to'];
  return ['forwarding', isReceiving && !isOfPods ? 'to' : 'from'];
}

/** ufw has separate policies for packets that are routed, go to the node or leave it (ufw(8)). */
function letThroughUfw(details: FlowDetails): string {
  const [chain, way] = wayOf(details);
  if (chain === 'input') return 'To allow what Pods send to the node: ufw allow from POD_RANGE';
  if (chain === 'output') return 'To allow what the node sends to Pods: ufw allow out to POD_RANGE';
  return `To allow forwarding ${way} Pods: ufw route allow ${way} POD_RANGE`;
}

function probes(details: FlowDetails, own: Own): string {
  return isProbe(details, own) ? "These are probably the kubelet's probes: without them the Pod stays unready. " : '';
}

/** If the receiver refused the packet, a new egress policy would not help, and would isolate the Pod. */
function allowEgress(to: string, details: FlowDetails, { namespace }: Own): string {
  if (details.refusedBy === 'receiver') return policyAdvice(details, namespace);
  return `Allow egress to ${to}: ${describeIn(namespace, details)}`;
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
  return advice === '' ? answer.text : `${answer.text} ${advice}`;
}

function policyAdvice(details: FlowDetails, namespace: string): string {
  const { direction, refusedBy, peer, policy, prefix } = details;
  if (policy !== undefined && isShown(policy)) return `Check: ${showPolicy(policy)}`;
  const peerNamespace = peer.object?.namespace;
  const receiving = direction === 'receiving';
  const [mine, theirs] = receiving ? (['ingress', 'egress'] as const) : (['egress', 'ingress'] as const);
  // A record without a prefix comes from a program that enforces policies, and names the policy that denied. An operator chooses a prefix,
  // and the rule after the LOG rule is not known.
  const isRecord = prefix === '';
  const of = (side: 'ingress' | 'egress', whose: string): string =>
    isRecord ? `an ${side} policy of ${whose}` : `${side} policies of ${whose}`;
  const say = (which: string, namespaces: readonly string[]): string =>
    `${isRecord ? `Denied by ${which}. Check` : `Check ${which}`}: ${[...new Set(namespaces)].map((each) => describeIn(each, details)).join('; ')}`;
  if (refusedBy === undefined && peerNamespace !== undefined) {
    const either = [of(mine, 'this Pod'), of(theirs, 'its peer')].join(isRecord ? ' or ' : ' and ');
    return say(either, [namespace, peerNamespace]);
  }
  const isMine = refusedBy === undefined || refusedBy === (receiving ? 'receiver' : 'sender');
  if (isMine) return say(of(mine, 'this Pod'), [namespace]);
  return peerNamespace === undefined ? '' : say(of(theirs, nameOf(peer)), [peerNamespace]);
}
