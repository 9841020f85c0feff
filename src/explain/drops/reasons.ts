/** Explains the reasons that data planes give for dropping packets, and says what to do. docs/logging/cilium.md has the same list. */

interface Reason {
  /** The cause, as a part of a sentence. */
  readonly means: string;
  /** What to do. Some commands need the Pod's Namespace. `mtu`: the MTU of the next link in bytes, if known. */
  readonly act: string | ((namespace: string, mtu?: number) => string);
  /** Whether a policy is the cause, though not by addresses and ports. */
  readonly ofPolicy?: true;
  /** The dropper of the packet, as a part of a sentence. Default: Cilium. */
  readonly by?: string;
}

const lookAtServices = (namespace: string): string => `kubectl -n ${namespace} get services,endpointslices`;
const ciliumPolicies = (namespace: string): string =>
  `kubectl -n ${namespace} get ciliumnetworkpolicies -o yaml; kubectl get ciliumclusterwidenetworkpolicies -o yaml`;
const ports: Reason = {
  means:
    'masquerading found no free port or no entry of that connection: many connections to one address use the ports up',
  act: 'Spread or reuse connections to that address, or raise bpf.natMax. Entries: cilium-dbg bpf nat list in the Pod of cilium on that node',
};
const fragments: Reason = {
  means: 'a later fragment came without its first, which has the ports',
  act: 'Send less than the MTU, or let Cilium track fragments (enable-ipv4-fragment-tracking)',
};
const egress: Reason = {
  means: 'an egress gateway policy applies, and no gateway node or address is there for it',
  act: 'Check that the gateway node is there and has the egress IP: kubectl get ciliumegressgatewaypolicies -o yaml',
};
const layer7: Reason = {
  means: 'an L7 rule of a Cilium policy refused the request; addresses and ports were allowed',
  act: (namespace) => `Check the rules of that policy: ${ciliumPolicies(namespace)}`,
  ofPolicy: true,
};
const starting: Reason = {
  means: 'the programs of Cilium for that Pod or node were not loaded yet',
  act: 'Nothing, if it is over in a minute. Else look at the Pod of cilium on that node, and restart it',
};

const kernel = "the node's kernel, not a policy";
const program = "a program of the node's traffic control, which is where eBPF data planes enforce policies";
const route: Reason = {
  by: kernel,
  means: "the node's routes do not lead to that address",
  act: 'Check on the node: ip route get ADDRESS',
};
const neighbour: Reason = {
  by: kernel,
  means: 'nobody answered for that address on the link: it is down, gone, or never was',
  act: (namespace) => `Check who still uses the address: ${lookAtServices(namespace)}`,
};
const foreign: Reason = {
  by: kernel,
  means: "the source address cannot be the sender's",
  act: 'Check what the sender runs: a VPN, a bridge or a forged address',
};
const traffic: Reason = {
  by: program,
  means: 'its policy, or another filter of that device, refused it',
  act: 'The log of the eBPF data plane names the policy: turn it on',
};

/** Cilium's reasons, by their names in DropReason of its api/v1/flow/flow.proto. */
export const reasons: ReadonlyMap<string, Reason> = new Map(
  Object.entries<Reason>({
    INVALID_SOURCE_IP: {
      means: 'the source address does not belong to the sender, and Cilium lets Pods send from their own only',
      act: 'Check what the sender runs: a VPN, a bridge or a forged address',
    },
    STALE_OR_UNROUTABLE_IP: {
      means: 'nobody has that address any more: its Pod is gone',
      act: (namespace) =>
        `Check who still uses the address (a DNS cache, an old connection, endpoints): ${lookAtServices(namespace)}`,
    },
    CT_MAP_INSERTION_FAILED: {
      means: "Cilium's table of connections is full on this node, so new connections fail",
      act: 'Look who opens most connections (cilium-dbg bpf ct list global in the Pod of cilium on that node), then raise bpf.ctTcpMax or bpf.ctAnyMax',
    },
    CT_NO_MAP_FOUND: {
      means: "Cilium's table of connections is missing",
      act: 'Restart the Pod of cilium on that node',
    },
    SERVICE_BACKEND_NOT_FOUND: {
      means: 'the Service has no ready Pod behind it',
      act: (namespace) => `Make its Pods ready: ${lookAtServices(namespace)}`,
    },
    NO_TUNNEL_OR_ENCAPSULATION_ENDPOINT: {
      means: "Cilium knows no tunnel to the node of the receiver, which is new, gone, or not in Cilium's list",
      act: 'Compare kubectl get ciliumnodes with the nodes, and look at cilium-dbg bpf ipcache list in the Pod of cilium on that node',
    },
    NO_EGRESS_GATEWAY: egress,
    DROP_NO_EGRESS_IP: egress,
    IP_FRAGMENTATION_NOT_SUPPORTED: {
      means: 'the packet was a fragment, and Cilium does not take fragments as it is set up',
      act: fragments.act,
    },
    FIRST_LOGICAL_DATAGRAM_FRAGMENT_NOT_FOUND: fragments,
    DROP_FRAG_NOT_FOUND_WORLD: fragments,
    DENIED_BY_LB_SRC_RANGE_CHECK: {
      means: 'the client is not in loadBalancerSourceRanges of the Service',
      act: (namespace) => `Add its range there, if it is meant: kubectl -n ${namespace} get services -o yaml`,
    },
    SNAT_NO_MAP_FOUND: ports,
    NO_MAPPING_FOR_NAT_MASQUERADE: ports,
    UNSUPPORTED_PROTOCOL_FOR_NAT_MASQUERADE: {
      means: 'Cilium cannot masquerade this protocol',
      act: 'Route the peer without masquerading (ipv4NativeRoutingCIDR, ip-masq-agent)',
    },
    TTL_EXCEEDED: { means: 'the packet passed too many routers', act: 'Look for a loop in the routes to that address' },
    FIB_LOOKUP_FAILED: {
      means: "the node's routes do not lead to that address",
      act: 'Check on the node: ip route get ADDRESS',
    },
    LOCAL_HOST_IS_UNREACHABLE: {
      means: 'the node itself was not reachable for it',
      act: 'Look at the Pod of cilium on that node: cilium-dbg status',
    },
    UNENCRYPTED_TRAFFIC: {
      means: 'encryption is strict, and this packet would have left without it',
      act: 'Check that both nodes encrypt: cilium-dbg encrypt status in the Pods of cilium',
    },
    AUTH_REQUIRED: {
      means:
        'a policy asks for mutual authentication, which was not done yet; the first packets of a connection may be lost so',
      act: (namespace) => `If it goes on, look at SPIRE and the logs of cilium: ${ciliumPolicies(namespace)}`,
      ofPolicy: true,
    },
    REACHED_EDT_RATE_LIMITING_DROP_HORIZON: {
      means: 'the Pod sends more than its annotation kubernetes.io/egress-bandwidth admits',
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
      means:
        'it is larger than the next link takes, and may not be cut. The sender is told, once for each path, and sends less',
      act: (_, mtu) =>
        `If it goes on, the sender does not get ICMP "fragmentation needed": allow that, or lower the MTU of Pods${mtu === undefined ? '' : ` to ${mtu}`}`,
    },
    XFRM_POLICY: {
      by: kernel,
      means: 'a policy of IPsec (xfrm) refuses it, as where a packet had to be encrypted and was not',
      act: 'Check on the node: ip xfrm policy',
    },
    IPV6DISABLED: {
      by: kernel,
      means: 'IPv6 is off on that device',
      act: 'Turn it on there, or let Pods have no IPv6 address',
    },
    VXLAN_NO_REMOTE: {
      by: kernel,
      means: 'the tunnel knows no node for that address',
      act: "Look at the network plug-in of the receiver's node, which tells the others of its tunnel",
    },
    TC_INGRESS: traffic,
    TC_EGRESS: traffic,
    XDP: traffic,
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

interface PodContext {
  /** The Pod's. */
  readonly namespace: string;
  /** That of the Service, if the packet went to one. Policies of another Namespace are not the Pod's. */
  readonly ofServices?: string | undefined;
  readonly mtu?: number | undefined;
}

/** Returns one or two sentences. `reason`: a name or a number, which the parser has checked. */
export function adviseOnReason(reason: string, { namespace, ofServices, mtu }: PodContext): string {
  const known = reasons.get(reason) ?? kernelReasons.get(reason);
  if (known === undefined)
    return `Cilium dropped it (${reason}), not a policy. Check in the Pod of cilium on that node: cilium-dbg monitor --type drop`;
  const { means, act, ofPolicy, by } = known;
  const cause = by ?? (ofPolicy ? 'Cilium' : 'Cilium, not a policy');
  return `Dropped by ${cause}: ${means} (${reason}). ${typeof act === 'string' ? act : act(ofPolicy ? namespace : (ofServices ?? namespace), mtu)}`;
}
