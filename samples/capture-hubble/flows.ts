/** Prints the flows of samples/hubble-flows.log for main.go: one flow a line, as the JSON of Protocol Buffers. */

type Fields = Readonly<Record<string, unknown>>;

const pod = (namespace: string, name: string, kind: string, workload: string): Fields => ({
  ID: 400 + name.length,
  identity: 24_000 + name.length,
  cluster_name: 'shop',
  namespace,
  labels: [`k8s:app=${workload}`, `k8s:io.kubernetes.pod.namespace=${namespace}`],
  pod_name: name,
  workloads: [{ name: workload, kind }],
});
const world: Fields = { identity: 2, labels: ['reserved:world'] };
const ends = {
  worker: ['10.244.0.41', pod('batch', 'worker-84f9d6c5bb-2fkjz', 'Deployment', 'worker')],
  worker2: ['10.244.1.41', pod('batch', 'worker-84f9d6c5bb-fzv5m', 'Deployment', 'worker')],
  postgres: ['10.244.1.30', pod('shop', 'postgres-0', 'StatefulSet', 'postgres')],
  cart: ['10.244.1.22', pod('shop', 'cart-79d4c5b6c8-hp6rw', 'Deployment', 'cart')],
  web: ['10.244.1.21', pod('shop', 'web-6c8d5f7b94-8wzqd', 'Deployment', 'web')],
  relay: ['10.244.1.12', pod('monitoring', 'syslog-relay-node-b', 'DaemonSet', 'syslog-relay')],
  outside: ['203.0.113.80', world],
  service: ['10.96.142.7', world],
} as const satisfies Record<string, readonly [string, Fields]>;
type End = keyof typeof ends;

const dropped = { verdict: 'DROPPED', Type: 'L3_L4', node_name: 'shop/node-b' };
const ethernet = { source: '62:6b:d0:a4:c5:63', destination: '6e:d0:ea:78:fc:0a' };
const drop = { event_type: { type: 1 }, file: { name: 'bpf_lxc.c', line: 2409 } };
const verdict = { event_type: { type: 5 }, policy_match_type: 1 };
const reason = (drop_reason: number, drop_reason_desc: string): Fields => ({ drop_reason, drop_reason_desc });
const syn = (source_port: number, destination_port: number): Fields => ({
  TCP: { source_port, destination_port, flags: { SYN: true } },
});

let printed = 0;

/** `seconds`: after 13:45. */
function print(seconds: number, from: End, to: End, l4: Fields, fields: Fields, nanos = 0): void {
  const [[source, sender], [destination, receiver]] = [ends[from], ends[to]];
  const time = timeOf(seconds, nanos);
  const uuid = `cd75b2ac-8dd3-486b-beca-${String(++printed).padStart(12, '0')}`;
  const IP = { source, destination, ipVersion: 'IPv4' };
  const common = { time, uuid, ...dropped, ethernet, IP, l4, source: sender, destination: receiver, is_reply: false };
  console.log(JSON.stringify({ ...common, ...fields }));
}

function timeOf(seconds: number, nanos = 0): string {
  const whole = new Date(Date.UTC(2026, 10, 21, 13, 45, Math.floor(seconds))).toISOString().slice(0, 19);
  return `${whole}.${String((seconds % 1) * 1e9 + nanos).padStart(9, '0')}Z`;
}

/** What Cilium writes of one packet: the verdict of its policies, then the drop, some microseconds later. */
function printBoth(seconds: number, from: End, to: End, l4: Fields, number: number, name: string, by: Fields): void {
  const [Summary, why] = ['TCP Flags: SYN', reason(number, name)];
  print(seconds, from, to, l4, { ...why, ...verdict, Summary, ...by });
  const { traffic_direction } = by;
  const event_type = { type: 1, sub_type: number };
  print(seconds, from, to, l4, { ...why, ...drop, event_type, Summary, traffic_direction }, 3120);
}

const ingress = { traffic_direction: 'INGRESS' };
const egress = { traffic_direction: 'EGRESS' };
const policy = (name: string, revision: number): readonly Fields[] => [
  { name, namespace: 'shop', labels: [`k8s:io.cilium.k8s.policy.name=${name}`], revision, kind: 'CiliumNetworkPolicy' },
];

// No policy of shop/postgres admits the workers.
for (const seconds of [3, 4, 6])
  printBoth(seconds, 'worker', 'postgres', syn(40_112, 5432), 133, 'POLICY_DENIED', ingress);
for (const seconds of [6.25, 7.25])
  printBoth(seconds, 'worker2', 'postgres', syn(51_234, 5432), 133, 'POLICY_DENIED', ingress);
// A rule denies the payment provider by name.
const egress_denied_by = policy('no-payments', 6);
for (const seconds of [10, 11, 13])
  printBoth(seconds, 'cart', 'outside', syn(44_178, 443), 181, 'POLICY_DENY', {
    ...egress,
    destination_names: ['pay.example.com'],
    egress_denied_by,
  });
// In the audit mode this would have been dropped; the next was admitted, and passes a trace point.
const cart = policy('cart', 7);
print(14, 'web', 'cart', syn(51_000, 9000), { ...verdict, ...ingress, verdict: 'AUDIT', ingress_denied_by: cart });
const admitted = { verdict: 'FORWARDED' };
print(14.5, 'web', 'cart', syn(51_002, 9000), { ...verdict, ...ingress, ...admitted, ingress_allowed_by: cart });
const trace = { event_type: { type: 4 }, trace_observation_point: 'TO_ENDPOINT' };
print(14.5, 'web', 'cart', syn(51_002, 9000), { ...trace, ...admitted }, 9000);
// No policy: the table of connections is full, a Service has no Pod, a node has no tunnel.
for (const seconds of [20, 21])
  print(
    seconds,
    'web',
    'outside',
    { UDP: { source_port: 53_123, destination_port: 53 } },
    { ...reason(155, 'CT_MAP_INSERTION_FAILED'), ...drop, ...egress },
  );
const noBackend = reason(158, 'SERVICE_BACKEND_NOT_FOUND');
print(22, 'web', 'service', syn(40_200, 9000), { ...noBackend, ...drop, ...egress });
const noTunnel = reason(160, 'NO_TUNNEL_OR_ENCAPSULATION_ENDPOINT');
print(23, 'relay', 'worker', syn(40_202, 514), { ...noTunnel, ...drop, ...egress });
// The proxy refused a request. Its URL must be in no Event.
const http = { method: 'POST', url: 'http://cart:9000/admin?token=s3cr3t', protocol: 'HTTP/1.1' };
print(
  25,
  'web',
  'cart',
  { TCP: { source_port: 51_010, destination_port: 9000 } },
  { Type: 'L7', event_type: { type: 129 }, ...ingress, l7: { type: 'REQUEST', http } },
);
// Chatter of the link, a frame without addresses, and what was lost.
print(
  30,
  'web',
  'cart',
  { ICMPv6: { type: 133 } },
  {
    ...reason(132, 'INVALID_SOURCE_IP'),
    ...drop,
    IP: { source: 'fe80::64d8:8aff:fe72:fc14', destination: 'ff02::2', ipVersion: 'IPv6' },
    source: {},
    destination: {},
  },
);
console.log(
  JSON.stringify({ time: timeOf(31), ...dropped, ...reason(139, 'UNSUPPORTED_L3_PROTOCOL'), ethernet, ...drop }),
);
console.log(`lost ${JSON.stringify({ source: 'PERF_EVENT_RING_BUFFER', num_events_lost: 12, cpu: 1 })}`);
