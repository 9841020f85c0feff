import { TcpFlag } from '../../src/model/packet.ts';
import { flow } from './rows.ts';
import type { Row } from './rows.ts';

const hubble = { logger: 'hubble' };
/** A line with only what most parsers would look at. */
const line = (given: object): string =>
  JSON.stringify({
    flow: {
      verdict: 'DROPPED',
      IP: { source: '10.0.1.235', destination: '10.0.0.21', ipVersion: 'IPv4' },
      l4: { TCP: { source_port: 60524, destination_port: 80, flags: { SYN: true } } },
      event_type: { type: 1 },
      drop_reason_desc: 'POLICY_DENIED',
      ...given,
    },
    node_name: 'shop/node-b',
  });
const tcp = flow('TCP', '10.0.1.235', '10.0.0.21', 60524, 80);

/** Flows as Hubble's exporter writes them. Those with a version were printed by that exporter. */
export const hubbleLines: Row[] = [
  {
    id: 'Hubble, Cilium 1.18.3: a rule that denies, named',
    text: '{"flow":{"time":"2026-07-31T10:41:02.202450754Z","uuid":"cd75b2ac-8dd3-486b-beca-3d17d9d56cff","verdict":"DROPPED","drop_reason":181,"ethernet":{"source":"62:6b:d0:a4:c5:63","destination":"6e:d0:ea:78:fc:0a"},"IP":{"source":"10.0.1.235","destination":"10.0.0.21","ipVersion":"IPv4"},"l4":{"TCP":{"source_port":60524,"destination_port":80,"flags":{"SYN":true}}},"source":{"ID":423,"identity":24753,"cluster_name":"topgun","namespace":"net-lab","labels":["k8s:app=traffic-generator"],"pod_name":"traffic-generator-9b649846d-bxqfc","workloads":[{"name":"traffic-generator","kind":"Deployment"}]},"destination":{"identity":24075,"cluster_name":"topgun","namespace":"net-lab","labels":["k8s:app=echo-server"],"pod_name":"echo-server-65887564dc-jjw7k"},"Type":"L3_L4","node_name":"topgun/cilium-w1","event_type":{"type":5},"traffic_direction":"EGRESS","policy_match_type":1,"drop_reason_desc":"POLICY_DENY","Summary":"TCP Flags: SYN","egress_denied_by":[{"name":"deny-tg-to-echo","namespace":"net-lab","labels":["k8s:io.cilium.k8s.policy.name=deny-tg-to-echo"],"revision":"6","kind":"CiliumNetworkPolicy"}],"policy_log":[""]},"node_name":"topgun/cilium-w1","time":"2026-07-31T10:41:02.202450754Z"}',
    expected: {
      ...tcp,
      ...hubble,
      verdict: 'dropped',
      enforcer: 'network-policy',
      policySide: 'sender',
      policy: { kind: 'CiliumNetworkPolicy', namespace: 'net-lab', name: 'deny-tg-to-echo' },
      dropReason: undefined,
      notice: 'verdict',
      repeat: 1,
    },
  },
  {
    id: 'Hubble, documented: masked, without the type of the event',
    text: '{"flow":{"time":"2023-08-21T12:12:18.510175415Z","verdict":"DROPPED","IP":{"source":"10.244.1.60","destination":"10.244.1.5","ipVersion":"IPv4"},"l4":{"TCP":{"source_port":44916,"destination_port":80,"flags":{"SYN":true}}},"source":{"namespace":"default","pod_name":"xwing"},"destination":{"namespace":"default","pod_name":"deathstar-7848d6c4d5-th9v2"},"node_name":"kind-kind/kind-worker","drop_reason_desc":"POLICY_DENIED"},"node_name":"kind-kind/kind-worker","time":"2023-08-21T12:12:18.510175415Z"}',
    expected: {
      ...flow('TCP', '10.244.1.60', '10.244.1.5', 44916, 80),
      ...hubble,
      verdict: 'dropped',
      policy: undefined,
      policySide: undefined,
      notice: undefined,
    },
  },
  {
    id: 'Hubble, documented: a router solicitation, which no policy dropped',
    text: '{"flow":{"time":"2023-08-21T12:12:13.517394084Z","verdict":"DROPPED","IP":{"source":"fe80::64d8:8aff:fe72:fc14","destination":"ff02::2","ipVersion":"IPv6"},"l4":{"ICMPv6":{"type":133}},"source":{},"destination":{},"node_name":"kind-kind/kind-worker","drop_reason_desc":"INVALID_SOURCE_IP"},"node_name":"kind-kind/kind-worker","time":"2023-08-21T12:12:13.517394084Z"}',
    expected: [
      flow('ICMPv6', 'fe80::64d8:8aff:fe72:fc14', 'ff02::2'),
      { ...hubble, enforcer: 'unknown', dropReason: 'INVALID_SOURCE_IP', packet: { icmpType: 133, icmpCode: 0 } },
    ],
  },
  {
    id: 'Hubble, Cilium 1.20.2: lost events',
    text: '{"lost_events":{"source":"PERF_EVENT_RING_BUFFER","num_events_lost":"12","cpu":1},"node_name":"node-b","time":"2026-11-21T13:45:40Z"}',
    expected: { kind: 'suppressed', by: 'hubble', count: 12, affects: 'everything' },
  },
  {
    id: 'Hubble, lost events whose number is none',
    text: '{"lost_events":{"source":"HUBBLE_RING_BUFFER","num_events_lost":"-3"}}',
    expected: { kind: 'suppressed', by: 'hubble', count: undefined },
  },
  {
    id: 'Hubble, Cilium 1.20.2: aggregated',
    text: '{"flow":{"time":"2026-11-21T13:45:10Z","verdict":"DROPPED","IP":{"source":"10.244.1.22","destination":"203.0.113.80","ipVersion":"IPv4"},"l4":{"TCP":{"destination_port":443}},"node_name":"shop/node-b","event_type":{"type":5},"traffic_direction":"EGRESS","drop_reason_desc":"POLICY_DENY","egress_denied_by":[{"name":"no-payments","namespace":"shop","labels":["k8s:io.cilium.k8s.policy.name=no-payments"],"revision":"6","kind":"CiliumNetworkPolicy"}],"aggregate":{"egress_flow_count":3}},"node_name":"shop/node-b","time":"2026-11-21T13:45:10Z"}',
    expected: {
      kind: 'packet',
      packet: { destination: '203.0.113.80', sourcePort: undefined, destinationPort: 443 },
      repeat: 3,
    },
  },
  {
    id: 'Hubble, counts in extensions, as text, of both directions',
    text: line({ extensions: { ingress_flow_count: '2', egress_flow_count: 3, unknown_direction_flow_count: 'many' } }),
    expected: { ...tcp, repeat: 5 },
  },
  { id: 'Hubble, a count that is none', text: line({ aggregate: { egress_flow_count: -7 } }), expected: { repeat: 1 } },
  {
    id: 'Hubble, no policy: a Service without Pods',
    text: line({ drop_reason_desc: 'SERVICE_BACKEND_NOT_FOUND', traffic_direction: 'EGRESS' }),
    expected: {
      ...tcp,
      enforcer: 'unknown',
      dropReason: 'SERVICE_BACKEND_NOT_FOUND',
      policySide: undefined,
      notice: undefined,
    },
  },
  {
    id: 'Hubble, a reason that this Cilium has only a number for',
    text: line({ drop_reason_desc: 231 }),
    expected: { ...tcp, dropReason: 'reason 231' },
  },
  {
    id: 'Hubble, a reason that is no name',
    text: line({ drop_reason_desc: 'POLICY_DENIED\u001b[31m @everyone' }),
    expected: { ...tcp, dropReason: undefined, enforcer: 'unknown' },
  },
  {
    id: 'Hubble, ingress denied by a policy of the cluster, beside one that allows egress',
    text: line({
      event_type: { type: 5 },
      traffic_direction: 'INGRESS',
      drop_reason_desc: 'POLICY_DENY',
      egress_allowed_by: [{ name: 'out', namespace: 'shop', kind: 'CiliumNetworkPolicy' }],
      ingress_denied_by: [{ name: 'lockdown', kind: 'CiliumClusterwideNetworkPolicy' }],
    }),
    expected: {
      ...tcp,
      policySide: 'receiver',
      policy: { kind: 'CiliumClusterwideNetworkPolicy', namespace: undefined, name: 'lockdown' },
    },
  },
  {
    id: 'Hubble, a policy whose name has control characters',
    text: line({
      traffic_direction: 'EGRESS',
      drop_reason_desc: 'POLICY_DENY',
      egress_denied_by: [{ name: 'deny\u001b[31m', namespace: 'shop', kind: 'CiliumNetworkPolicy' }],
    }),
    expected: { ...tcp, policy: undefined, enforcer: 'network-policy' },
  },
  {
    id: 'Hubble, in the audit mode of policies',
    text: line({
      verdict: 'AUDIT',
      event_type: { type: 5 },
      traffic_direction: 'INGRESS',
      drop_reason_desc: undefined,
      ingress_denied_by: [{ name: 'web', namespace: 'shop', kind: 'CiliumNetworkPolicy' }],
    }),
    expected: { ...tcp, verdict: 'logged', policy: { name: 'web' }, notice: undefined },
  },
  {
    id: 'Hubble, admitted: no policy that allows is named',
    text: line({
      verdict: 'FORWARDED',
      event_type: { type: 5 },
      drop_reason_desc: undefined,
      traffic_direction: 'INGRESS',
      ingress_allowed_by: [{ name: 'web', namespace: 'shop', kind: 'CiliumNetworkPolicy' }],
    }),
    expected: { ...tcp, verdict: 'accepted', policy: undefined },
  },
  {
    id: 'Hubble, a trace point of a packet that was admitted',
    text: line({ verdict: 'FORWARDED', event_type: { type: 4 }, drop_reason_desc: undefined }),
    expected: undefined,
  },
  {
    id: 'Hubble, refused by the proxy, with a URL',
    text: line({
      Type: 'L7',
      event_type: { type: 129 },
      drop_reason_desc: undefined,
      l7: { type: 'REQUEST', http: { method: 'GET', url: 'http://shop/@channel' } },
    }),
    expected: { ...tcp, dropReason: 'L7_HTTP', enforcer: 'unknown', policy: undefined, prefix: '' },
  },
  {
    id: 'Hubble, UDP, ports as text',
    text: line({ l4: { UDP: { source_port: '53123', destination_port: '53' } } }),
    expected: flow('UDP', '10.0.1.235', '10.0.0.21', 53123, 53),
  },
  {
    id: 'Hubble, an echo reply: its type is zero, so it is left out',
    text: line({ l4: { ICMPv4: {} } }),
    expected: [flow('ICMP', '10.0.1.235', '10.0.0.21'), { packet: { icmpType: 0, icmpCode: 0 } }],
  },
  {
    id: 'Hubble, a frame without addresses',
    text: line({ IP: undefined, l4: undefined, drop_reason_desc: 'UNSUPPORTED_L3_PROTOCOL' }),
    expected: undefined,
  },
  {
    id: 'Hubble, a mask without addresses',
    text: line({ IP: undefined }),
    expected: { kind: 'unparsable', format: 'hubble', reason: 'the source (missing) is not an address' },
  },
  {
    id: 'Hubble, a mask without the verdict',
    text: line({ verdict: undefined }),
    expected: { kind: 'unparsable', format: 'hubble' },
  },
  {
    id: 'Hubble, a verdict that is not known',
    text: line({ verdict: 'constructor' }),
    expected: { kind: 'unparsable', reason: 'the verdict constructor is not known' },
  },
  {
    id: 'Hubble, names by which the sender has asked for the destination',
    text: line({ destination_names: ['<!channel>', 7, 'pay.example.com', 'www.example.com'] }),
    expected: { ...tcp, destinationHost: 'pay.example.com' },
  },
  {
    id: 'Hubble, a name of a host that is endless',
    text: line({ destination_names: ['a'.repeat(60_000)] }),
    expected: { ...tcp, destinationHost: undefined },
  },
  {
    id: 'Hubble, a mask that keeps the type of the event alone',
    text: '{"flow":{"event_type":{"type":1}}}',
    expected: { kind: 'unparsable', format: 'hubble' },
  },
  {
    id: 'Hubble, admitted and handed to a proxy',
    text: line({ verdict: 'REDIRECTED' }),
    expected: { ...tcp, verdict: 'accepted' },
  },
  {
    id: 'Hubble, half a line',
    text: line({}).slice(0, 120),
    expected: { kind: 'unparsable', format: 'hubble', reason: 'the JSON is damaged or cut off' },
  },
  {
    id: 'Hubble, a flag that is not set',
    text: line({ l4: { TCP: { source_port: 60524, destination_port: 80, flags: { SYN: false, ACK: true } } } }),
    expected: { packet: { tcpFlags: TcpFlag.ACK } },
  },
  {
    id: 'Hubble, 60 KiB of labels',
    text: line({ source: { labels: Array.from({ length: 1500 }, (_, i) => `k8s:label-${i}=${'x'.repeat(24)}`) } }),
    expected: tcp,
  },
  {
    id: 'Hubble, an event of the agent',
    text: '{"agent_event":{"type":"ENDPOINT_CREATED"},"node_name":"node-b"}',
    expected: undefined,
  },
  { id: 'another JSON log with a flow', text: '{"level":"info","flow":{"id":7}}', expected: undefined },
  { id: 'another JSON log whose flow is text', text: '{"msg":"\\"flow\\":{\\"verdict\\""}', expected: undefined },
];
