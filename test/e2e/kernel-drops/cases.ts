/** What is done in the guest, and what the source must report about it. */
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';

/** Two Pods of samples/cluster.json, behind devices with the names that Calico gives them. */
const [va = ''] = interfaceNames('shop', 'cart-79d4c5b6c8-hp6rw');
const [vb = ''] = interfaceNames('shop', 'web-6c8d5f7b94-8wzqd');
export const pods = [
  { netns: 'a', device: va, address: '10.244.1.22', address6: 'fd00:10:244:1::16' },
  { netns: 'b', device: vb, address: '10.244.1.21', address6: 'fd00:10:244:1::15' },
];

export interface Case {
  name: string;
  /** Commands that are run on the node before; their words are separated by spaces. All cases run at the same time. */
  before?: readonly string[];
  run: string;
  /** The reason, the device, and from where to where, once for each packet. Undefined: nothing may be reported. */
  seen: string | undefined;
}

const pod = 'ip netns exec a';
/** Ends after three seconds if nothing answers. On a loaded guest, starting processes may take seconds. */
const tcp = (port: number, address = '10.244.1.21'): string => `timeout 20 nc -w 3 ${address} ${port}`;
const ping = (address: string, options = ''): string => `timeout 20 ping -c 1 -W 1 ${options}${address}`;
const drop = (chain: string, port: number, table = 'filter'): string =>
  `iptables -t ${table} -A ${chain} -p tcp --dport ${port} -j DROP`;
const fromPod = (port: number, address = '10.244.1.21'): string => `TCP 10.244.1.22 > ${address}:${port}`;
/** An address behind a device of the node that nobody has. */
const nobody = (last: number, device: string): string => `ip route add 10.244.1.${last}/32 dev ${device}`;

export const cases: readonly Case[] = [
  {
    name: 'DROP in FORWARD',
    before: [drop('FORWARD', 5432)],
    run: `${pod} ${tcp(5432)}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5432)}`,
  },
  {
    name: 'DROP in FORWARD, IPv6',
    before: ['ip6tables -A FORWARD -p tcp --dport 5432 -j DROP'],
    run: `${pod} ${tcp(5432, 'fd00:10:244:1::15')}`,
    seen: `NETFILTER_DROP ${va} > TCP fd00:10:244:1::16 > fd00:10:244:1::15:5432`,
  },
  {
    name: 'REJECT in FORWARD',
    before: ['iptables -A FORWARD -p tcp --dport 5433 -j REJECT'],
    run: `${pod} ${tcp(5433)}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5433)}`,
  },
  {
    name: 'DROP in INPUT of the node',
    before: [drop('INPUT', 99)],
    run: `${pod} ${tcp(99, '10.244.1.1')}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(99, '10.244.1.1')}`,
  },
  {
    name: 'DROP in OUTPUT of the node',
    before: [drop('OUTPUT', 5434)],
    run: tcp(5434),
    seen: 'NETFILTER_DROP > TCP 10.244.1.1 > 10.244.1.21:5434',
  },
  {
    name: 'DROP in PREROUTING of raw',
    before: [drop('PREROUTING', 5435, 'raw')],
    run: `${pod} ${tcp(5435)}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5435)}`,
  },
  {
    name: 'DROP in PREROUTING of mangle',
    before: [drop('PREROUTING', 5436, 'mangle')],
    run: `${pod} ${tcp(5436)}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5436)}`,
  },
  {
    name: 'DROP in POSTROUTING of mangle',
    before: [drop('POSTROUTING', 5437, 'mangle')],
    run: `${pod} ${tcp(5437)}`,
    seen: `NETFILTER_DROP > ${vb} ${fromPod(5437)}`,
  },
  {
    name: "DROP in OUTPUT of a Pod's own rules",
    before: [`${pod} ${drop('OUTPUT', 7777)}`],
    run: `${pod} ${tcp(7777)}`,
    seen: undefined,
  },
  {
    name: "DROP in INPUT of a Pod's own rules",
    before: [`ip netns exec b ${drop('INPUT', 8888)}`],
    run: `${pod} ${tcp(8888)}`,
    seen: undefined,
  },
  { name: 'a closed port', run: `${pod} ${tcp(81)}`, seen: undefined },
  {
    name: "an address that is another Pod's",
    before: [nobody(69, vb), 'ip -n a addr add 10.244.1.30/32 dev lo', 'iptables -A FORWARD -d 10.244.1.69 -j DROP'],
    run: `${pod} ${ping('10.244.1.69', '-I 10.244.1.30 ')}`,
    seen: `NETFILTER_DROP ${va} > ICMP 10.244.1.30 > 10.244.1.69`,
  },
  {
    name: 'fragments',
    before: [nobody(68, vb), 'iptables -A FORWARD -d 10.244.1.68 -j DROP'],
    run: `${pod} ${ping('10.244.1.68', '-s 3000 ')}`,
    seen: `NETFILTER_DROP ${va} > ICMP 10.244.1.22 > 10.244.1.68`,
  },
  {
    name: 'fragments, IPv6',
    before: ['ip route add fd00:10:244:1::44/128 dev br0', 'ip6tables -A FORWARD -d fd00:10:244:1::44 -j DROP'],
    run: `${pod} ${ping('fd00:10:244:1::44', '-s 3000 ')}`,
    seen: `NETFILTER_DROP ${va} > ICMPv6 fd00:10:244:1::16 > fd00:10:244:1::44`,
  },
  {
    name: 'several segments of TCP in one packet (GSO)',
    before: [
      'ip netns exec c httpd -p 5446 -h /run',
      'iptables -A FORWARD -p tcp --dport 5446 -m length --length 1501:65535 -j DROP',
    ],
    run: `${pod} timeout 20 nc 10.3.0.2 5446 -e /bin/busybox head -c 20000 /dev/zero`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5446, '10.3.0.2')}`,
  },
  {
    name: 'reverse-path filter',
    before: ['ip -n b addr add 10.9.9.9/32 dev lo', `sysctl net.ipv4.conf.${vb}.rp_filter=1`],
    run: `ip netns exec b ${ping('10.244.1.22', '-I 10.9.9.9 ')}`,
    seen: `IP_RPFILTER ${vb} > 10.9.9.9 > 10.244.1.22`,
  },
  {
    name: 'no route',
    run: `${pod} ${ping('10.77.0.1')}`,
    seen: `IP_INNOROUTES ${va} > ICMP 10.244.1.22 > 10.77.0.1`,
  },
  {
    name: 'no neighbour',
    before: [nobody(99, vb)],
    run: `${pod} ${ping('10.244.1.99')}`,
    seen: `NEIGH_FAILED > ${vb} ICMP 10.244.1.22 > 10.244.1.99`,
  },
  {
    name: 'larger than the next link takes',
    before: [`ip link set ${vb} mtu 1280`],
    run: `${pod} ${ping('10.244.1.21', '-s 1400 ')}`,
    seen: `PKT_TOO_BIG ${va} > ICMP 10.244.1.22 > 10.244.1.21`,
  },
  {
    name: 'larger than the next link takes, IPv6',
    run: `${pod} ${ping('fd00:10:244:1::15', '-s 1400 ')}`,
    seen: `PKT_TOO_BIG > ${vb} ICMPv6 fd00:10:244:1::16 > fd00:10:244:1::15`,
  },
  {
    name: 'a policy of IPsec',
    before: [nobody(66, vb), 'ip xfrm policy add dir fwd src 10.244.1.0/24 dst 10.244.1.66/32 action block'],
    run: `${pod} ${ping('10.244.1.66')}`,
    seen: `XFRM_POLICY ${va} > ICMP 10.244.1.22 > 10.244.1.66`,
  },
  {
    name: 'TC at ingress of a device',
    before: [
      `tc qdisc add dev ${va} clsact`,
      `tc filter add dev ${va} ingress protocol ip prio 1 u32 match ip dst 10.244.1.67/32 action drop`,
    ],
    run: `${pod} ${ping('10.244.1.67')}`,
    seen: `TC_INGRESS ${va} > ICMP 10.244.1.22 > 10.244.1.67`,
  },
  {
    name: 'TC at egress of a device',
    before: [
      `tc qdisc add dev ${vb} clsact`,
      `tc filter add dev ${vb} egress protocol ip prio 1 u32 match ip dport 5440 0xffff action drop`,
    ],
    run: `${pod} ${tcp(5440)}`,
    seen: `TC_EGRESS > ${vb} ${fromPod(5440)}`,
  },
  {
    name: 'nftables at ingress of a device',
    before: [
      'nft add table netdev t',
      `nft add chain netdev t c { type filter hook ingress device ${va} priority 0 ; }`,
      'nft add rule netdev t c tcp dport 5441 drop',
    ],
    run: `${pod} ${tcp(5441)}`,
    seen: `NETFILTER_DROP ${va} > ${fromPod(5441)}`,
  },
  {
    name: 'a Pod behind a bridge',
    before: [drop('FORWARD', 5442)],
    run: `ip netns exec c ${tcp(5442)}`,
    seen: 'NETFILTER_DROP br0 > TCP 10.3.0.2 > 10.244.1.21:5442',
  },
  {
    name: 'nftables between two ports of a bridge',
    before: [
      'nft add table bridge t',
      'nft add chain bridge t c { type filter hook forward priority 0 ; }',
      'nft add rule bridge t c tcp dport 5443 drop',
    ],
    run: `ip netns exec c ${tcp(5443, '10.3.0.3')}`,
    seen: 'NETFILTER_DROP > vd TCP 10.3.0.2 > 10.3.0.3:5443',
  },
  {
    name: 'from a tunnel of VXLAN',
    before: [drop('FORWARD', 5444)],
    run: `ip netns exec e ${tcp(5444)}`,
    seen: 'NETFILTER_DROP vx > TCP 10.5.0.2 > 10.244.1.21:5444',
  },
];
