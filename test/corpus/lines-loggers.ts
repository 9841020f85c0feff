import { flow } from './rows.ts';
import type { Row } from './rows.ts';

const aws = { logger: 'aws-network-policy-agent' };
const ovn = { logger: 'ovn-acl' };
const antrea = { logger: 'antrea' };
const ulogd = { logger: 'ulogd' };
const weave = { logger: 'weave-npc' };
const acl = (name: string, verdict: string, packet: string): string =>
  `2021-06-13T19:33:11.590Z|00005|acl_log(ovn_pinctrl0)|INFO|name="${name}", verdict=${verdict}, severity=alert: ${packet}`;
const ethernet = 'vlan_tci=0x0000,dl_src=0a:58:0a:80:02:39,dl_dst=0a:58:0a:80:02:37';

const ulogdRecord = {
  timestamp: '2026-03-01T18:52:30.943369+0100',
  dvc: 'Netfilter',
  'raw.pktlen': 60,
  'raw.pktcount': 1,
  'oob.prefix': 'forward-drop ',
  'oob.mark': 0,
  'oob.hook': 2,
  'oob.family': 2,
  'oob.protocol': 2048,
  'ip.protocol': 6,
  'ip.tos': 0,
  'ip.ttl': 63,
  'ip.totlen': 60,
  'ip.id': 37733,
  'ip.fragoff': 16384,
  src_port: 43936,
  dest_port: 5432,
  'tcp.syn': 1,
  'tcp.ack': 0,
  'oob.in': 'cali1',
  'oob.out': 'eth0',
  src_ip: '10.65.1.4',
  dest_ip: '10.65.2.9',
};
const ulogdFlow = flow('TCP', '10.65.1.4', '10.65.2.9', 43936, 5432);

/** Network policy engines that write a log of their own. */
export const loggerLines: Row[] = [
  {
    id: 'B15 AWS, as sent to CloudWatch',
    text: 'Node: node-a;SIP: 172.27.3.157;SPORT: 60476;DIP: 172.27.8.227;DPORT: 5003;PROTOCOL: TCP;PolicyVerdict: ACCEPT',
    expected: { ...flow('TCP', '172.27.3.157', '172.27.8.227', 60476, 5003), ...aws, verdict: 'accepted' },
  },
  {
    id: 'AWS, as sent to CloudWatch, with a tier',
    text: 'Node: node-a;SIP: 172.27.3.157;SPORT: 60476;DIP: 172.27.8.227;DPORT: 53;PROTOCOL: UDP;PolicyVerdict: DENY;Tier: ADMIN',
    expected: {
      ...flow('UDP', '172.27.3.157', '172.27.8.227', 60476, 53),
      ...aws,
      verdict: 'dropped',
      clusterTier: 'Admin',
    },
  },
  {
    id: 'AWS up to v1.2.1: a key for each field',
    text: '{"level":"info","ts":"2024-09-23T12:36:53.562Z","logger":"ebpf-client","caller":"events/events.go:193","msg":"Flow Info:  ","Src IP":"10.0.141.167","Src Port":39197,"Dest IP":"172.20.0.10","Dest Port":53,"Proto":"UDP","Verdict":"DENY"}',
    expected: { ...flow('UDP', '10.0.141.167', '172.20.0.10', 39197, 53), ...aws, verdict: 'dropped' },
  },
  {
    id: 'AWS from v1.2.2: a sentence, IPv4',
    text: '{"level":"info","ts":"2026-04-13T21:18:46.888Z","caller":"runtime/asm_amd64.s:1700","msg":"Flow Info: Src IP: 10.0.1.28 Src Port: 55484 Dest IP: 10.0.1.132 Dest Port: 80 Proto TCP Verdict DENY Direction egress"}',
    expected: {
      ...flow('TCP', '10.0.1.28', '10.0.1.132', 55484, 80),
      ...aws,
      verdict: 'dropped',
      policySide: 'sender',
    },
  },
  {
    id: 'AWS, newest: a sentence, IPv4, with a tier',
    text: '{"level":"info","ts":"2026-05-31T21:57:47.020Z","msg":"Flow Info: Src IP: 10.0.1.28 Src Port: 55484 Dest IP: 10.0.1.132 Dest Port: 80 Proto TCP Verdict DENY Direction ingress, Tier NETWORK_POLICY"}',
    expected: {
      ...flow('TCP', '10.0.1.28', '10.0.1.132', 55484, 80),
      ...aws,
      verdict: 'dropped',
      policySide: 'receiver',
    },
  },
  {
    id: 'AWS, newest: of a tier that is not known, and a direction that is none',
    text: '{"level":"info","ts":"2026-05-31T21:57:47.020Z","msg":"Flow Info: Src IP: 10.0.1.28 Src Port: 55484 Dest IP: 10.0.1.132 Dest Port: 80 Proto TCP Verdict DENY Direction constructor, Tier toString"}',
    expected: {
      ...flow('TCP', '10.0.1.28', '10.0.1.132', 55484, 80),
      ...aws,
      verdict: 'dropped',
      policySide: undefined,
      clusterTier: undefined,
    },
  },
  {
    id: 'AWS, newest: a sentence, IPv6 has more colons',
    text: '{"level":"debug","ts":"2026-05-31T21:57:47.020Z","msg":"Flow Info: Src IP: 2001:db8::1c Src Port: 55484 Dest IP: 2001:db8::84 Dest Port: 443 Proto: TCP Verdict: ACCEPT Direction: egress Tier: BASELINE"}',
    expected: {
      ...flow('TCP', '2001:db8::1c', '2001:db8::84', 55484, 443),
      ...aws,
      verdict: 'accepted',
      policySide: 'sender',
      clusterTier: 'Baseline',
    },
  },
  {
    id: 'B16 OVN, ICMP',
    text: acl(
      'verify-audit-logging_deny-all',
      'drop',
      `icmp,${ethernet},nw_src=10.128.2.57,nw_dst=10.128.2.55,nw_tos=0,nw_ecn=0,nw_ttl=64,icmp_type=8,icmp_code=0`,
    ),
    expected: [
      flow('ICMP', '10.128.2.57', '10.128.2.55'),
      { ...ovn, verdict: 'dropped', packet: { icmpType: 8, icmpCode: 0 } },
    ],
  },
  {
    id: 'OVN, TCP, with a direction',
    text: `2021-06-13T19:33:11.590Z|00005|acl_log(ovn_pinctrl0)|INFO|name="NP:prod:web:Ingress:0", verdict=allow, severity=info, direction=to-lport: tcp,${ethernet},nw_src=10.128.2.57,nw_dst=10.128.2.55,nw_tos=0,nw_ecn=0,nw_ttl=63,tp_src=54343,tp_dst=8080,tcp_flags=syn`,
    expected: { ...flow('TCP', '10.128.2.57', '10.128.2.55', 54343, 8080), ...ovn, verdict: 'accepted' },
  },
  ...[
    ['what no policy of the namespace allows', 'NP:prod:Ingress', undefined, 'receiver'],
    ['the same in older releases', 'prod_egressDefaultDeny', undefined, 'sender'],
    ['of the sender', 'NP:prod:web:Egress:0', { namespace: 'prod', name: 'web' }, 'sender'],
    ['of an egress firewall', 'EF:prod:Egress:0', { kind: 'EgressFirewall', namespace: 'prod' }, 'sender'],
    [
      'of the cluster, for all that no other names',
      'BANP:default:Ingress:0',
      { kind: 'BaselineAdminNetworkPolicy', namespace: undefined, name: 'default' },
      'receiver',
    ],
    ['an older name with the number of the rule', 'prod_web_0', { namespace: 'prod', name: 'web' }],
    ['cut to 63 characters', `NP:prod:${'x'.repeat(55)}`, { namespace: 'prod', name: `${'x'.repeat(55)}…` }],
    ['cut within the direction', `NP:${'x'.repeat(56)}:Ing`, undefined],
    ['cut within the namespace', `NP:${'x'.repeat(60)}`, undefined],
  ].map(([id, name, policy, policySide]) => ({
    id: `OVN, policy: ${id as string}`,
    text: acl(name as string, 'drop', `tcp,${ethernet},nw_src=10.16.0.10,nw_dst=10.16.0.7,tp_src=54343,tp_dst=53`),
    expected: { ...ovn, verdict: 'dropped', policy, policySide } as Row['expected'],
  })),
  {
    id: 'OVN, a word without a value that is like the name of a field',
    text: acl('x', 'drop', `tcp,${ethernet},nw_src=10.16.0.10,nw_dst=10.16.0.7,tp_src=54343,tp_dst=53,tp_dstx`),
    expected: { ...flow('TCP', '10.16.0.10', '10.16.0.7', 54343, 53), ...ovn },
  },
  {
    id: 'OVN, a verdict that is none',
    text: acl('x', 'constructor', `tcp,${ethernet},nw_src=10.16.0.10,nw_dst=10.16.0.7,tp_src=54343,tp_dst=53`),
    expected: { ...ovn, verdict: 'logged' },
  },
  {
    id: 'OVN, rejected, without a name',
    text: acl(
      '<unnamed>',
      'reject',
      `udp,${ethernet},nw_src=10.16.0.10,nw_dst=10.16.0.7,nw_tos=0,nw_ecn=0,nw_ttl=63,tp_src=54343,tp_dst=53`,
    ),
    expected: { ...flow('UDP', '10.16.0.10', '10.16.0.7', 54343, 53), ...ovn, verdict: 'rejected' },
  },
  {
    id: 'OVN, a verdict that decides nothing',
    text: acl('pass', 'pass', `udp,${ethernet},nw_src=10.16.0.10,nw_dst=10.16.0.7,nw_ttl=63,tp_src=54343,tp_dst=53`),
    expected: { ...flow('UDP', '10.16.0.10', '10.16.0.7', 54343, 53), ...ovn, verdict: 'logged' },
  },
  {
    id: 'OVN, ICMP of IPv6',
    text: acl(
      'deny6',
      'drop',
      `icmp6,${ethernet},ipv6_src=2001:db8::10,ipv6_dst=2001:db8::7,nw_ttl=64,icmp_type=128,icmp_code=0`,
    ),
    expected: [
      flow('ICMPv6', '2001:db8::10', '2001:db8::7'),
      { ...ovn, verdict: 'dropped', packet: { icmpType: 128, icmpCode: 0 } },
    ],
  },
  {
    id: 'OVN, IPv6',
    text: acl(
      'deny6',
      'drop',
      `tcp6,${ethernet},ipv6_src=2001:db8::10,ipv6_dst=2001:db8::7,ipv6_label=0x00000,nw_tos=0,nw_ecn=0,nw_ttl=63,tp_src=54343,tp_dst=53,tcp_flags=syn`,
    ),
    expected: { ...flow('TCP', '2001:db8::10', '2001:db8::7', 54343, 53), ...ovn, verdict: 'dropped' },
  },
  {
    id: 'B17 Antrea before 1.8: nine columns and a count',
    text: '2021/06/24 23:56:41.346165 AntreaPolicyEgressRule AntreaNetworkPolicy:default/test-anp Drop 44900 10.10.1.65 35402 10.0.0.5 80 TCP 60 [3 packets in 1.011379442s]',
    expected: {
      ...flow('TCP', '10.10.1.65', '10.0.0.5', 35402, 80),
      ...antrea,
      verdict: 'dropped',
      repeat: 3,
      policy: { namespace: 'default', name: 'test-anp' },
    },
  },
  {
    id: 'Antrea, newest: rule, direction, Pod, label',
    text: '2024/06/24 23:56:41.346165 AntreaPolicyIngressRule AntreaNetworkPolicy:prod/reject-http RejectRule Ingress Reject 14500 prod/web-0 10.10.1.65 35402 10.10.2.5 80 TCP 60 my-label [2 packets in 1.000855539s]',
    expected: {
      ...flow('TCP', '10.10.1.65', '10.10.2.5', 35402, 80),
      ...antrea,
      verdict: 'rejected',
      repeat: 2,
      policy: { namespace: 'prod', name: 'reject-http' },
    },
  },
  {
    id: 'Antrea, a rule that is called as an action is',
    text: '2024/06/24 23:56:41.346165 AntreaPolicyIngressRule AntreaNetworkPolicy:prod/p Allow Ingress Drop 14500 prod/web-0 10.10.1.65 35402 10.10.2.5 80 TCP 60 <nil>',
    expected: { ...flow('TCP', '10.10.1.65', '10.10.2.5', 35402, 80), ...antrea, verdict: 'dropped' },
  },
  {
    id: 'Antrea, default deny of Kubernetes policies: names are missing',
    text: '2024/06/24 23:56:41.346165 IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> prod/web-0 10.10.1.65 <nil> 10.10.2.5 <nil> ICMP 84 <nil>',
    expected: { ...flow('ICMP', '10.10.1.65', '10.10.2.5'), ...antrea, verdict: 'dropped', repeat: 1 },
  },
  {
    id: 'ulogd, JSON',
    text: JSON.stringify(ulogdRecord),
    expected: {
      ...ulogdFlow,
      ...ulogd,
      verdict: 'dropped',
      prefix: 'forward-drop',
      inInterface: 'cali1',
      outInterface: 'eth0',
    },
  },
  {
    id: 'ulogd, JSON, with a boolean label that says blocked',
    text: JSON.stringify({ ...ulogdRecord, 'oob.prefix': 'web', action: 'blocked' }),
    expected: { ...ulogdFlow, ...ulogd, verdict: 'dropped' },
  },
  {
    id: 'ulogd, JSON, with an action that is none',
    text: JSON.stringify({ ...ulogdRecord, 'oob.prefix': 'web', action: 'constructor' }),
    expected: { ...ulogdFlow, ...ulogd, verdict: 'logged' },
  },
  {
    id: 'ulogd, JSON, IPv6 and ICMPv6, no port',
    text: JSON.stringify({
      'oob.prefix': 'drop:input ',
      'oob.family': 10,
      'oob.protocol': 34525,
      'ip.protocol': 58,
      'ip6.hoplimit': 255,
      'icmpv6.type': 134,
      'icmpv6.code': 0,
      'oob.in': 'eth0',
      'oob.out': '',
      src_ip: 'fe80::1',
      dest_ip: 'ff02::1',
    }),
    expected: [
      flow('ICMPv6', 'fe80::1', 'ff02::1'),
      { ...ulogd, verdict: 'dropped', packet: { icmpType: 134, icmpCode: 0 } },
    ],
  },
  { id: 'another JSON log', text: '{"level":"info","msg":"out of stock"}', expected: undefined },
  {
    id: 'AWS, another message',
    text: '{"level":"info","ts":"2026-05-31T21:57:46.926Z","msg":"Conntrack cleanup Delete - Conntrack Key : Source IP - 10.0.0.5"}',
    expected: undefined,
  },
  {
    id: 'Weave Net, its own format',
    text: 'WARN: 2021/05/12 02:47:10.232988 TCP connection from 10.32.0.3:33702 to 10.40.0.1:80 blocked by Weave NPC.',
    expected: { ...flow('TCP', '10.32.0.3', '10.40.0.1', 33702, 80), ...weave, verdict: 'dropped' },
  },
  {
    id: 'Weave Net, as older releases write',
    text: 'time="2016-10-26T11:51:02Z" level=warning msg="UDP connection from 10.32.0.7:56648 to 10.32.0.11:53 blocked by Weave NPC."',
    expected: { ...flow('UDP', '10.32.0.7', '10.32.0.11', 56648, 53), ...weave, verdict: 'dropped' },
  },
  {
    id: 'Weave Net, a damaged address',
    text: 'TCP connection from 10.32.0.777:33702 to 10.40.0.1:80 blocked by Weave NPC.',
    expected: { kind: 'unparsable', format: 'weave-npc' },
  },
  {
    id: 'Weave Net, in the middle of a line of another program',
    text: 'Invalid user TCP connection from 10.32.0.3:33702 to 10.40.0.1:80 blocked by Weave NPC. from 192.0.2.1',
    expected: undefined,
  },
  {
    id: 'AWS, without a verdict',
    text: '{"level":"info","ts":"2026-05-31T21:57:47.020Z","msg":"Flow Info: Src IP: 10.0.1.28 Src Port: 55484 Dest IP: 10.0.1.132 Dest Port: 80 Proto TCP"}',
    expected: { kind: 'unparsable', format: 'aws-network-policy-agent' },
  },
  ...['icmp6', 'ICMPv6', 'tcp6', 'udp6', 'sctp6', 'esp'].map((protocol): Row => ({
    id: `OVN, the protocol ${protocol}`,
    text: acl(
      'NP:prod:web:Ingress:0',
      'drop',
      `${protocol},nw_src,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1,tp_dst=80,icmp_type=1`,
    ),
    expected: ovn,
  })),
  ...['reject', 'pass', 'constructor'].map((verdict): Row => ({
    id: `OVN, the verdict ${verdict}`,
    text: acl('NP:prod:web:Ingress:0', verdict, 'tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1,tp_dst=80'),
    expected: ovn,
  })),
];
