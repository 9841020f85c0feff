/** Explains the reasons that data planes give for dropping packets, and says what to do. docs/logging/cilium.md has the same list. */

interface DropContext {
  /** Of the objects to look at: the Pod's, that of the Service to which the packet went, or that of the end that refused it. */
  readonly namespace: string;
  /** The Service of that Namespace to which the packet went. */
  readonly service?: string | undefined;
  /** The node that dropped the packet, or words for it. */
  readonly node: string;
  /** The destination's address, or words for it. */
  readonly to: string;
  /** The MTU of the next link in bytes. */
  readonly mtu?: number | undefined;
}

interface Reason {
  /** The cause, as a part of a sentence. */
  readonly means: string;
  /** What to do, and who can. */
  readonly act: string | ((about: DropContext) => string);
  /** Whether a policy is the cause, though not by addresses and ports. */
  readonly ofPolicy?: true;
  /** Whether the cause is at the end that refused the packet, which then belongs to the sentence. */
  readonly ofRefusing?: true;
  /** The dropper of the packet, as a part of a sentence. Default: Cilium. */
  readonly by?: string;
}

const lookAtServices = (namespace: string): string => `kubectl -n ${namespace} get services,endpointslices`;
const ports: Reason = {
  means: 'masquerading found no free port or entry, often because of many connections to one address',
  act: ({ node }) =>
    `Reuse connections to that address. Cluster admins: raise bpf.natMax; in the Cilium Pod of ${node}: cilium-dbg bpf nat list`,
};
const fragments: Reason = {
  means: 'a later fragment came without the first one, which has the ports',
  act: 'Send packets smaller than the MTU, or let Cilium track fragments (enable-ipv4-fragment-tracking)',
};
const egress: Reason = {
  means: 'an egress gateway policy applies, but no gateway node or egress IP is available',
  act: 'Cluster admins: check the gateway node and its egress IP: kubectl get ciliumegressgatewaypolicies -o yaml',
};
const layer7: Reason = {
  means: 'an L7 rule refused the request; its addresses and ports were allowed',
  act: ({ namespace }) =>
    `Check the L7 rules: kubectl -n ${namespace} get ciliumnetworkpolicies -o yaml (cluster-wide policies: ask the cluster admins)`,
  ofPolicy: true,
};
const starting: Reason = {
  means: "Cilium's programs for that Pod or node were not loaded yet",
  act: ({ node }) => `Wait a minute. If it continues, cluster admins: restart the Cilium Pod of ${node}`,
};

const kernel = "the node's kernel, not a policy";
const program = 'a tc or XDP filter of the node';
const getRoute = ({ node, to }: DropContext): string => `On ${node}: ip route get ${to}`;
const route: Reason = {
  by: kernel,
  means: 'no route to that address',
  act: getRoute,
};
const neighbour: Reason = {
  by: kernel,
  means: 'no host answers ARP or NDP for that address',
  act: ({ to }) => `Check that ${to} is right and its host is up; a stale EndpointSlice may still list it`,
};
const forged = 'Look in the sender for a VPN, a bridge or a forged address';
const foreign: Reason = {
  by: kernel,
  means: "the source address cannot be the sender's",
  act: forged,
};
const traffic: Reason = {
  by: program,
  means: "a policy of an eBPF data plane, or another program's filter",
  act: "Cluster admins: turn on the data plane's log, which names the policy",
};

/** Cilium's reasons, by their names in DropReason of its api/v1/flow/flow.proto. */
export const reasons: ReadonlyMap<string, Reason> = new Map(
  Object.entries<Reason>({
    INVALID_SOURCE_IP: {
      means: "the source address is not the sender's, and Cilium lets Pods send only from their own",
      act: forged,
    },
    STALE_OR_UNROUTABLE_IP: {
      means: 'no Pod has that address any more',
      act: ({ namespace }) =>
        `Find out who still uses it (a DNS cache, an old connection, endpoints): ${lookAtServices(namespace)}`,
    },
    CT_MAP_INSERTION_FAILED: {
      means: "Cilium's connection tracking map is full, so new connections fail",
      act: ({ node }) =>
        `Cluster admins: find who opens most connections (cilium-dbg bpf ct list global in the Cilium Pod of ${node}), then raise bpf.ctTcpMax or bpf.ctAnyMax`,
    },
    CT_NO_MAP_FOUND: {
      means: "Cilium's connection tracking map is missing",
      act: ({ node }) => `Cluster admins: restart the Cilium Pod of ${node}`,
    },
    SERVICE_BACKEND_NOT_FOUND: {
      means: 'the Service has no ready Pods',
      act: ({ namespace, service }) =>
        `See: ${service === undefined ? lookAtServices(namespace) : `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${service}`}`,
    },
    NO_TUNNEL_OR_ENCAPSULATION_ENDPOINT: {
      means: "Cilium has no tunnel to the receiver's node, which may be new or removed",
      act: 'Cluster admins: compare kubectl get ciliumnodes with kubectl get nodes',
    },
    NO_EGRESS_GATEWAY: egress,
    DROP_NO_EGRESS_IP: egress,
    IP_FRAGMENTATION_NOT_SUPPORTED: {
      means: 'the packet was a fragment, and fragment tracking is off in Cilium',
      act: fragments.act,
    },
    FIRST_LOGICAL_DATAGRAM_FRAGMENT_NOT_FOUND: fragments,
    DROP_FRAG_NOT_FOUND_WORLD: fragments,
    DENIED_BY_LB_SRC_RANGE_CHECK: {
      means: 'the client is not in loadBalancerSourceRanges of the Service',
      act: ({ namespace }) => `To allow it, add its range: kubectl -n ${namespace} get services -o yaml`,
    },
    SNAT_NO_MAP_FOUND: ports,
    NO_MAPPING_FOR_NAT_MASQUERADE: ports,
    UNSUPPORTED_PROTOCOL_FOR_NAT_MASQUERADE: {
      means: 'Cilium cannot masquerade this protocol',
      act: 'Cluster admins: exempt the peer from masquerading (ipv4NativeRoutingCIDR, ip-masq-agent)',
    },
    TTL_EXCEEDED: {
      means: 'the packet passed too many routers',
      act: ({ to }) => `Look for a routing loop on the way to ${to}`,
    },
    FIB_LOOKUP_FAILED: {
      means: 'no route to that address',
      act: getRoute,
    },
    LOCAL_HOST_IS_UNREACHABLE: {
      means: 'the node itself could not be reached',
      act: ({ node }) => `Cluster admins, in the Cilium Pod of ${node}: cilium-dbg status`,
    },
    UNENCRYPTED_TRAFFIC: {
      means: 'strict encryption is on, and this packet would have left unencrypted',
      act: 'Cluster admins: check that both nodes encrypt: cilium-dbg encrypt status in their Cilium Pods',
    },
    AUTH_REQUIRED: {
      means:
        'a policy requires mutual authentication, which was not done yet; this may cost the first packets of a connection',
      act: ({ namespace }) =>
        `If it continues, ask the cluster admins to check SPIRE and Cilium's logs; policies: kubectl -n ${namespace} get ciliumnetworkpolicies -o yaml`,
      ofPolicy: true,
    },
    REACHED_EDT_RATE_LIMITING_DROP_HORIZON: {
      means: 'the Pod sends more than its annotation kubernetes.io/egress-bandwidth allows',
      act: 'Raise the annotation, or send less',
    },
    ENCAPSULATION_TRAFFIC_IS_PROHIBITED: {
      means: 'a Pod sent tunnel packets (VXLAN, Geneve) itself',
      act: 'Check what the sender runs',
    },
    DROP_HOST_NOT_READY: starting,
    DROP_EP_NOT_READY: starting,
    MISSED_TAIL_CALL: starting,
    L7: layer7,
    L7_HTTP: layer7,
    L7_DNS: layer7,
    L7_KAFKA: layer7,
  }),
);

/** The kernel's reasons, by their names in include/net/dropreason-core.h. docs/kernel-drops.md has the same list. */
export const kernelReasons: ReadonlyMap<string, Reason> = new Map(
  Object.entries<Reason>({
    IP_INNOROUTES: route,
    IP_OUTNOROUTES: route,
    NEIGH_FAILED: neighbour,
    NEIGH_CREATEFAIL: neighbour,
    IP_LOCAL_SOURCE: foreign,
    IP_INVALID_SOURCE: foreign,
    PKT_TOO_BIG: {
      by: kernel,
      means: 'larger than the MTU of the next link',
      act: ({ mtu, to }) =>
        `Once per path is normal. If it repeats, allow ${to.includes(':') ? 'ICMPv6 type 2' : 'ICMP type 3 code 4'} to Pods, or ${mtu === undefined ? 'lower the Pod MTU' : `set the Pod MTU to ${mtu}`}`,
    },
    XFRM_POLICY: {
      by: kernel,
      means: 'an IPsec policy (xfrm) refuses it, for example because it is not encrypted',
      act: ({ node }) => `On ${node}: ip xfrm policy`,
    },
    IPV6DISABLED: {
      by: kernel,
      means: 'IPv6 is off on that device',
      act: ({ node }) => `Cluster admins: enable IPv6 on ${node}, or give Pods no IPv6 address`,
    },
    VXLAN_NO_REMOTE: {
      by: kernel,
      means: 'the tunnel has no remote node for that address',
      act: "Cluster admins: check the network plug-in on the receiver's node, which announces that node's tunnel",
    },
    TC_INGRESS: traffic,
    TC_EGRESS: traffic,
    XDP: traffic,
  }),
);

const awsAgent = "AWS's network policy agent";

/** Tiers in the log of AWS's network policy agent that are of no policy. docs/logging/aws-vpc-cni.md also explains them. */
export const awsReasons: ReadonlyMap<string, Reason> = new Map(
  Object.entries<Reason>({
    'Tier DEFAULT': {
      by: awsAgent,
      ofRefusing: true,
      means: 'strict mode is on, and no policy is in force',
      act: ({ namespace }) => `Each Pod needs a policy for each direction: kubectl -n ${namespace} get networkpolicies`,
    },
    'Tier ERROR': {
      by: awsAgent,
      ofRefusing: true,
      means: 'its programs had no state yet',
      act: ({ node }) =>
        `Usual while a Pod starts: wait a minute. If it continues, cluster admins: restart the aws-node Pod of ${node}`,
    },
  }),
);

/** Reasons for packets that Cilium does not forward, or handles itself. No connection of a Pod is lost. */
const noise: ReadonlySet<string> = new Set([
  'UNSUPPORTED_L2_PROTOCOL',
  'UNSUPPORTED_L3_PROTOCOL',
  'UNKNOWN_L4_PROTOCOL',
  'CT_UNKNOWN_L4_PROTOCOL',
  'VLAN_FILTERED',
  'NAT_NOT_NEEDED',
  'IGMP_HANDLED',
  'IGMP_SUBSCRIBED',
  'MULTICAST_HANDLED',
  'DROP_PUNT_PROXY',
]);

export function isNoise(reason: string): boolean {
  return noise.has(reason);
}

interface PodContext extends Partial<Omit<DropContext, 'namespace'>> {
  /** The Pod's. */
  readonly namespace: string;
  /** That of the Service, if the packet went to one. Policies of another Namespace are not the Pod's. */
  readonly ofServices?: string | undefined;
  /** The end that refused the packet, if it is known; the Namespace of a Pod. */
  readonly refusing?: { readonly name: string; readonly namespace: string | undefined } | undefined;
}

/** Returns one or two sentences. `reason`: a name or a number, which the parser has checked. */
export function adviseOnReason(
  reason: string,
  { namespace: own, ofServices, service, node, to, mtu, refusing }: PodContext,
): string {
  const about = { service, node: node || 'the node', to: to || 'that address', mtu };
  const known = reasons.get(reason) ?? kernelReasons.get(reason) ?? awsReasons.get(reason);
  if (known === undefined)
    return `Cilium dropped it (${reason}), not a policy. Cluster admins, in the Cilium Pod of ${about.node}: cilium-dbg monitor --type drop`;
  const { means, act, ofPolicy, ofRefusing, by } = known;
  const cause = by ?? (ofPolicy ? 'Cilium' : 'Cilium, not a policy');
  const end = ofRefusing ? ` for ${refusing?.name ?? 'one of the two Pods'}` : '';
  const namespace = (ofPolicy ? undefined : ofRefusing ? refusing?.namespace : ofServices) ?? own;
  const action = typeof act === 'string' ? act : act({ ...about, namespace });
  const isOfOthers = namespace !== own && action.includes(` -n ${namespace} `);
  return `Dropped by ${cause}: ${means}${end} (${reason}). ${isOfOthers ? toOwners(namespace, action) : action}`;
}

/** Readers of a Pod's Events seldom have rights in another Namespace. */
function toOwners(namespace: string, action: string): string {
  const [first = '', ...rest] = action.replace(/^See: /, '');
  return `Owners of namespace ${namespace}: ${first.toLowerCase()}${rest.join('')}`;
}
