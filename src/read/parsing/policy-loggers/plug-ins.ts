/** Reads formats of other network plug-ins: Antrea, OVN-Kubernetes, Kube-OVN and Weave Net. */
import type { Unparsable } from '../../../base/model/observation.ts';
import { type PacketObservation, type PolicyName, TcpFlag, type Verdict } from '../../../base/model/packet.ts';
import { isSubdomain } from '../../../base/platform/api-names.ts';
import { observePacket, type PacketRecord, sideOf, unparsable } from './record.ts';

/**
 * Reads Weave Net's network policy controller (weave npc/metrics/metrics.go), which logs the first packet of each connection in one of two forms:
 *
 *     WARN: 2021/05/12 02:47:10.232988 TCP connection from 10.32.0.3:33702 to 10.40.0.1:80 blocked by Weave NPC.
 *     time="2016-10-26T11:51:02Z" level=warning msg="UDP connection from 10.32.0.7:56648 to 10.32.0.11:80 blocked by Weave NPC."
 */
const weaveSentence =
  /^(?:WARN: \d{4}\/\d\d\/\d\d [\d:.]{8,15} |time="[^"]{1,40}" level=warning msg=")?(TCP|UDP) connection from ([\d.]{1,15}):(\d{1,5}) to ([\d.]{1,15}):(\d{1,5}) blocked by Weave NPC\./;

export function parseWeave(text: string): PacketObservation | Unparsable | undefined {
  const [found, protocol, source, sourcePort, destination, destinationPort] = weaveSentence.exec(text) ?? [];
  if (found === undefined) return undefined;
  return observePacket({
    logger: 'weave-npc',
    verdict: 'dropped',
    protocol,
    source,
    sourcePort,
    destination,
    destinationPort,
  });
}

/**
 * Reads Antrea's np.log of all versions. Newer ones added the rule's name, the direction, the applied-to Pod and the log label:
 *
 *     AntreaPolicyEgressRule AntreaNetworkPolicy:default/p Drop 44900 10.10.1.65 35402 10.0.0.5 80 TCP 60 [3 packets in 1.01s]
 *     AntreaPolicyIngressRule AntreaNetworkPolicy:default/p rule1 Ingress Drop 44900 default/pod 10.… 35402 10.… 80 TCP 60 label
 */
export function parseAntrea(text: string): PacketObservation | Unparsable | undefined {
  const found =
    /^(?:\d{4}\/\d\d\/\d\d [\d:.]{8,15} )?(Antrea\w{1,40}?(?:Rule|Metric)|IngressMetric|EgressMetric|IngressDefaultRule|EgressDefaultRule|IngressRule|EgressRule|\w{0,40}DefaultRule) (\w{0,40}NetworkPolicy)(?::| )(\S{1,300}) (.+)$/.exec(
      text,
    );
  const [, table = '', kind = '', policy = '', rest = ''] = found ?? [];
  if (!found || rest.length > 1000) return undefined;
  const words = rest.split(' ');
  // Antrea takes any text as a rule's name, even one that reads like the fields after it. After those there is only the label, which is a word.
  const at = words.findLastIndex((word, index) => actions.has(word) && /^(?:\d+|<nil>)$/.test(words[index + 1] ?? ''));
  const verdict = actions.get(words[at] ?? '');
  if (verdict === undefined) return unparsable('antrea', 'no action (Allow, Drop, Reject) in the line');
  // Between the action and the addresses: the priority and, since 1.12, the Pod that the rule is applied to.
  const flow = words.slice(at + 1);
  const first = flow.findIndex(
    (word, index) => index > 0 && /^(?:\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]+)$/i.test(word),
  );
  const [source, sourcePort, destination, destinationPort, protocol, length] = flow.slice(first < 0 ? 1 : first);
  const repeated = / \[(\d{1,9}) packets in [^\s\]]{1,40}\]$/.exec(rest);
  return observePacket({
    logger: 'antrea',
    verdict,
    policy: policy === '<nil>' ? undefined : antreaPolicy(kind, policy),
    byNetworkPolicies: kind === 'K8sNetworkPolicy' || undefined,
    policySide: table.includes('Egress') ? 'sender' : table.includes('Ingress') ? 'receiver' : undefined,
    repeat: repeated ? Math.max(1, Number(repeated[1])) : 1,
    source,
    sourcePort,
    destination,
    destinationPort,
    protocol: unnamedProtocols.has(protocol) ? undefined : protocol,
    length,
  });
}

const actions = new Map<string, Verdict>([
  ['Drop', 'dropped'],
  ['Reject', 'rejected'],
  ['Allow', 'accepted'],
  ['Pass', 'logged'],
  ['Redirect', 'accepted'],
]);

/** Of protocols other than TCP, UDP, SCTP, ICMP and IGMP. */
const unnamedProtocols: ReadonlySet<string | undefined> = new Set(['<nil>', 'UnknownProtocol']);

function antreaPolicy(kind: string, text: string): PolicyName {
  const slash = text.indexOf('/');
  const namespace = slash < 0 ? undefined : text.slice(0, slash);
  return policyName(kind === 'K8sNetworkPolicy' ? 'NetworkPolicy' : kind, namespace, text.slice(slash + 1));
}

function policyName(kind: string | undefined, namespace: string | undefined, name: string): PolicyName {
  return { kind, namespace, name, tier: undefined };
}

/**
 * Reads OVN's ACL log, which OVN-Kubernetes and Kube-OVN turn on. The name is a string of JSON (lib/acl-log.c), so a quote in it is escaped:
 *
 *     |00005|acl_log(ovn_pinctrl0)|INFO|name="ns_policy", verdict=drop, severity=alert, direction=to-lport: tcp,…,nw_src=…,tp_dst=80
 */
export function parseOvn(text: string): PacketObservation | Unparsable | undefined {
  const found =
    /^(?:\d{4}-\d\d-\d\dT[\d:.]{8,15}Z|(?:ovn-controller: )?ovs)?\|\d{1,10}\|acl_log\([^)]{0,64}\)\|\w+\|name="((?:[^"\\]|\\.){0,512})", verdict=(\w+), ([^:]{0,128}): (\w+),/.exec(
      text,
    );
  if (!found) return undefined;
  const [whole, name = '', verdict = '', options = '', word = ''] = found;
  const portSide = sideOfPort(options);
  const isOther = word === 'ip' || word === 'ipv6';
  const kubeOvn = kubeOvnPolicy(name, portSide) ?? privateSubnet(name, verdict, options);
  const fields = new Map<string, string>();
  for (const pair of text.slice(found.index + whole.length, found.index + 4096).split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) fields.set(pair.slice(0, at), pair.slice(at + 1).trim());
  }
  return observePacket({
    logger: 'ovn-acl',
    verdict: ovnVerdicts.get(verdict) ?? 'logged',
    ...(kubeOvn ?? { policy: ovnPolicy(name), policySide: ovnSide(name) }),
    byNetworkPolicies: kubeOvn?.policy?.kind === 'NetworkPolicy' || undefined,
    source: fields.get('nw_src') ?? fields.get('ipv6_src'),
    destination: fields.get('nw_dst') ?? fields.get('ipv6_dst'),
    protocol: isOther ? fields.get('nw_proto') : word.replace(/^(tcp|udp|sctp)6$/, '$1'),
    // Where OVN has no name for the protocol, these are no ports: of IGMP they are its type and code.
    sourcePort: isOther ? undefined : fields.get('tp_src'),
    destinationPort: isOther ? undefined : fields.get('tp_dst'),
    tcpFlags: ovnFlags(fields.get('tcp_flags')),
    laterFragment: fields.get('nw_frag') === 'later',
    icmpType: fields.get('icmp_type'),
    icmpCode: fields.get('icmp_code'),
    ttl: fields.get('nw_ttl'),
  });
}

const ovnVerdicts = new Map<string, Verdict>([
  ['drop', 'dropped'],
  ['reject', 'rejected'],
  ['allow', 'accepted'],
]);

/** Reads `syn|ack`. */
function ovnFlags(text: string | undefined): number | undefined {
  const names = new Set(text?.split('|'));
  const bits = Object.entries(TcpFlag).map(([name, bit]) => (names.has(name.toLowerCase()) ? bit : 0));
  return text === undefined ? undefined : bits.reduce<number>((sum, bit) => sum | bit, 0);
}

/** Returns the end whose port the ACL belongs to. Older versions of OVN do not print it. */
function sideOfPort(options: string): PacketObservation['policySide'] {
  if (options.includes('direction=to-lport')) return 'receiver';
  return options.includes('direction=from-lport') ? 'sender' : undefined;
}

/**
 * Reads the direction from the name, which may be cut within it: the field `direction` is that of OVN's port, and `to-lport` for an
 * EgressFirewall. No policy's name has a capital or a `_`.
 */
function ovnSide(name: string): PacketObservation['policySide'] {
  if (name.startsWith('EF:')) return 'sender';
  const direction = /_(ingress|egress)DefaultDeny$/.exec(name)?.[1];
  if (direction !== undefined) return sideOf(direction);
  const parts = name.split(':').slice(2);
  const starts = (word: string): boolean => parts.some((part) => part !== '' && word.startsWith(part));
  if (starts('Ingress')) return 'receiver';
  return starts('Egress') ? 'sender' : undefined;
}

const kubeOvnKinds = new Map([
  ['np', 'NetworkPolicy'],
  ['anp', 'AdminNetworkPolicy'],
  ['banp', 'BaselineAdminNetworkPolicy'],
  ['cnp', 'ClusterNetworkPolicy'],
]);

/**
 * Reads Kube-OVN's names: `np/policy.ns/ingress/IPv4/0` of a rule, `anp/policy/egress/IPv6/1`, `banp/…`, `cnp/…`; and `ns/policy` of what
 * a NetworkPolicy does not allow, whose direction is only that of the port [1.11 to 1.17: pkg/controller, pkg/ovs/ovn-nb-acl.go]. Names are
 * cut to 60 characters and `...`.
 */
function kubeOvnPolicy(
  name: string,
  portSide: PacketObservation['policySide'],
): Pick<PacketRecord, 'policy' | 'policySide'> | undefined {
  const isCut = name.length === 63 && name.endsWith('...');
  const [type = '', object = '', direction = '', ...rest] = (isCut ? name.replace(/\.\.\.$/, '…') : name).split('/');
  const kind = kubeOvnKinds.get(type);
  if (kind !== undefined && (direction !== '' || isCut)) {
    const policySide = sideOf(direction) ?? portSide;
    if (kind !== 'NetworkPolicy') return { policy: policyName(kind, undefined, object), policySide };
    // Both parts may have dots, so the Namespace is unknown if it is cut.
    if (direction === '') return { policySide };
    const dot = object.lastIndexOf('.');
    return { policy: policyName(kind, object.slice(dot + 1), object.slice(0, dot)), policySide };
  }
  if (object === '' || direction !== '' || rest.length > 0) return undefined;
  return { policy: policyName('NetworkPolicy', type, object), policySide: portSide };
}

/**
 * Reads the name of a Subnet of Kube-OVN that is private, which logs all that it drops [SetLogicalSwitchPrivate of pkg/ovs/ovn-nb-acl.go].
 * Other names of ACLs have a `/`, `:` or `_`.
 */
function privateSubnet(
  name: string,
  verdict: string,
  options: string,
): Pick<PacketRecord, 'policy' | 'policySide'> | undefined {
  if (verdict !== 'drop' || options !== 'severity=warning, direction=to-lport' || !isSubdomain(name)) return undefined;
  return { policy: policyName('Subnet', undefined, name), policySide: 'receiver' };
}

/**
 * Reads `NP:ns:policy:Ingress:0`, `ANP:policy:Ingress:0`, `BANP:…`, `EF:ns:0`, and of older versions `ns_policy`, `ns_policy_0`. `NP:ns:Ingress` means that no policy
 * of the Namespace allowed the packet (go-controller/pkg/libovsdb/util/acl.go of OVN-Kubernetes).
 */
function ovnPolicy(whole: string): PolicyName | undefined {
  const parts = whole.split(':');
  // Names are cut to 63 characters, so the last part may be incomplete.
  const name = whole.length === 63 ? `${whole}…` : whole;
  const [type = '', namespace, policy] = name.split(':');
  // A direction has a capital letter, and the name of a policy has none.
  if (type === 'NP' && (parts.length < 3 || /^[A-Z]/.test(policy ?? ''))) return undefined;
  if (type === 'NP') return policyName('NetworkPolicy', namespace, policy ?? '');
  if (parts.length >= 2 && type === 'ANP') return policyName('AdminNetworkPolicy', undefined, namespace ?? '');
  if (parts.length >= 2 && type === 'BANP') return policyName('BaselineAdminNetworkPolicy', undefined, namespace ?? '');
  if (parts.length >= 2 && type === 'EF') return policyName('EgressFirewall', namespace, 'default');
  if (/_(?:(?:in|e)gressDefaultDeny|ARPallowPolicy)$/.test(name)) return undefined;
  const underscore = /^([a-z0-9-]+)_([a-z0-9.-]+)(?:_\d+)?$/.exec(name);
  return underscore === null
    ? policyName(undefined, undefined, name)
    : policyName('NetworkPolicy', underscore[1], underscore[2] ?? '');
}
