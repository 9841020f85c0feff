import { flow } from './rows.ts';
import type { Row } from './rows.ts';

const gke = { logger: 'gke-policy-action' };
const line = (connection: object, given: object = {}): string =>
  JSON.stringify({
    connection: { src_ip: '10.84.1.8', dest_ip: '10.84.0.11', protocol: 'tcp', direction: 'ingress', ...connection },
    disposition: 'deny',
    count: 1,
    ...given,
  });
const ports = { src_port: 45_084, dest_port: 8080 };
const tcp = flow('TCP', '10.84.1.8', '10.84.0.11', 45_084, 8080);

/** Network policy logging of GKE Dataplane V2. The first three are lines of the tests of its logger. */
export const gkeLines: Row[] = [
  {
    id: 'GKE, a deny',
    text: '{"connection":{"src_ip":"10.84.1.8","dest_ip":"10.84.0.11","src_port":45084,"dest_port":8080,"protocol":"tcp","direction":"ingress"},"disposition":"deny","src":{"pod_name":"client-deny-5689846f5b-cqqsj","workload_kind":"ReplicaSet","workload_name":"client-deny-5689846f5b","pod_namespace":"default","namespace":"default"},"dest":{"pod_name":"test-service-745c798fc9-hzpxt","workload_kind":"ReplicaSet","workload_name":"test-service-745c798fc9","pod_namespace":"default","namespace":"default"},"count":1,"timestamp":"2020-06-13T21:30:22.292379064Z"}',
    expected: {
      ...tcp,
      ...gke,
      verdict: 'dropped',
      enforcer: 'network-policy',
      policySide: 'receiver',
      policy: undefined,
      repeat: 1,
    },
  },
  {
    id: 'GKE, an allow: the policy that allows is not named',
    text: '{"connection":{"src_ip":"10.84.1.7","dest_ip":"10.84.0.11","src_port":55644,"dest_port":8080,"protocol":"tcp","direction":"ingress"},"disposition":"allow","policies":[{"name":"np","namespace":"default","kind":"NetworkPolicy"}],"src":{"pod_name":"client-allow-7b78d7c957-zkn54","workload_kind":"ReplicaSet","workload_name":"client-allow-7b78d7c957","pod_namespace":"default","namespace":"default"},"dest":{"pod_name":"test-service-745c798fc9-hzpxt","workload_kind":"ReplicaSet","workload_name":"test-service-745c798fc9","pod_namespace":"default","namespace":"default"},"count":1,"timestamp":"2020-06-13T21:29:31.445836587Z"}',
    expected: {
      ...flow('TCP', '10.84.1.7', '10.84.0.11', 55_644, 8080),
      ...gke,
      verdict: 'accepted',
      policy: undefined,
    },
  },
  {
    id: 'GKE, keys in another order, a peer outside, an FQDNNetworkPolicy',
    text: '{"src":{"namespace":"default","pod_namespace":"default","workload_name":"client-allow","pod_name":"client-allow-ffdfccbd5-d4cqp","workload_kind":"Deployment"},"dest":{"instance":"169.254.169.254"},"connection":{"direction":"egress","dest_port":53,"src_ip":"10.84.1.6","src_port":45084,"protocol":"udp","dest_ip":"169.254.169.254"},"disposition":"allow","policies":[{"namespace":"default","name":"client-allow","kind":"FQDNNetworkPolicy"}],"count":1,"timestamp":"2020-06-13T21:32:00.000000001Z"}',
    expected: {
      ...flow('UDP', '10.84.1.6', '169.254.169.254', 45_084, 53),
      ...gke,
      verdict: 'accepted',
      policySide: 'sender',
    },
  },
  {
    id: 'GKE, denies of five seconds in one line, with the node',
    text: line(ports, { count: 7, node_name: 'gke-a-1' }),
    expected: { ...tcp, repeat: 7 },
  },
  {
    id: 'GKE, without the source port, numbers as text',
    text: line({ dest_port: '8080' }, { count: '12' }),
    expected: { packet: { sourcePort: undefined, destinationPort: 8080 }, repeat: 12 },
  },
  {
    id: 'GKE, ICMP without ports',
    text: line({ protocol: 'icmp' }),
    expected: flow('ICMP', '10.84.1.8', '10.84.0.11'),
  },
  {
    id: 'GKE, ICMPv6',
    text: line({ protocol: 'icmpv6', src_ip: 'fd00::8', dest_ip: 'fd00::11' }),
    expected: flow('ICMPv6', 'fd00::8', 'fd00::11'),
  },
  { id: 'GKE, a count that is none', text: line(ports, { count: 0.5 }), expected: { ...tcp, repeat: 1 } },
  { id: 'GKE, a count of zero', text: line(ports, { count: 0 }), expected: { ...tcp, repeat: 1 } },
  {
    id: 'GKE, a direction that is none',
    text: line({ direction: 'constructor' }),
    expected: { policySide: undefined },
  },
  {
    id: 'GKE, a policy beside a deny is none that denied',
    text: line(ports, { policies: [{ name: 'np', namespace: 'default', kind: 'NetworkPolicy' }] }),
    expected: { ...tcp, verdict: 'dropped', policy: undefined },
  },
  {
    id: 'GKE, a disposition that is not known',
    text: line(ports, { disposition: 'toString' }),
    expected: {
      kind: 'unparsable',
      format: 'gke-policy-action',
      reason: 'the disposition toString is not known',
    },
  },
  {
    id: 'GKE, an address that is none',
    text: line({ src_ip: '10.84.1.888' }),
    expected: { kind: 'unparsable', reason: 'the source 10.84.1.888 is not an address' },
  },
  {
    id: 'GKE, half a line',
    text: line(ports).slice(0, -3),
    expected: { kind: 'unparsable', reason: 'the JSON is damaged or cut off' },
  },
  { id: 'another JSON log with a disposition', text: '{"disposition":"deny","user":"x"}', expected: undefined },
];
