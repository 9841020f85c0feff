/** Defines every field of a flow record. docs/audit-fields.md and the JSON Schema are generated from it. */

/** Whether a field has few enough values for a label of metrics and streams: `fine`, `careful`, or `avoid`. */
type Cardinality = 'fine' | 'careful' | 'avoid';

export interface Field<
  Type extends 'string' | 'time' | 'integer' | 'boolean' = 'string' | 'time' | 'integer' | 'boolean',
> {
  type: Type;
  about: string;
  cardinality: Cardinality;
  /** All possible values, if there are only a few. */
  values?: readonly string[];
  /** The name in the Elastic Common Schema; '' without one. */
  ecs: string;
  /** The name in OCSF's class 4001; '' without one. */
  ocsf: string;
  /** Packets of one flow may have different values. The record then leaves the field out. */
  varies?: true;
  /** The live flows of the last hour do not have this field. */
  live?: false;
  /** The field is an address, which the privacy settings may shorten. */
  address?: true;
}

type Names = Partial<Omit<Field, 'type' | 'about' | 'cardinality'>>;

function fieldOf<const Type extends Field['type']>(type: Type) {
  return (about: string, cardinality: Cardinality, names: Names = {}): Field<Type> => ({
    type,
    about,
    cardinality,
    ecs: '',
    ocsf: '',
    ...names,
  });
}

const text = fieldOf('string');
const time = fieldOf('time');
const integer = fieldOf('integer');
const boolean = fieldOf('boolean');

/** The version of the fields. With another major version, readers refuse records. A new minor version only adds fields. */
export const schemaVersion = '1.2';

type End = 'source' | 'destination';

const endNames = { source: 'src', destination: 'dst' } as const;
const kinds = ['Pod', 'Node', 'Service', 'external', 'unknown', 'redacted', 'other'];

function fieldsOfEnd(end: End) {
  const ocsf = `${endNames[end]}_endpoint`;
  return {
    address: text(
      `Address of the ${end}, or its network (\`203.0.113.0/24\`) if the privacy settings say so. If there were several, the first one.`,
      'avoid',
      { ecs: `${end}.address`, ocsf: `${ocsf}.ip`, address: true },
    ),
    addresses: integer(`Number of distinct addresses of the ${end}, if there was more than one.`, 'avoid'),
    addresses_at_least: boolean(`There were more addresses of the ${end} than were remembered.`, 'fine'),
    port: integer(`Port of the ${end}: of the end that offers the service; of both in \`packet\` mode.`, 'careful', {
      ecs: `${end}.port`,
      ocsf: `${ocsf}.port`,
    }),
    kind: text(
      `Kind of the object that has the address; \`redacted\`: hidden by the privacy settings; \`other\`: flows past a limit, counted together.`,
      'fine',
      { values: kinds, ocsf: `${ocsf}.type` },
    ),
    role: text(`A part that the ${end} plays in the cluster.`, 'fine', { values: ['dns', 'api-server', 'metadata'] }),
    evidence: text(
      `How the owner of the address was found; \`pod-name\`: the logger names Pods and has no addresses; \`earlier-run\`: the Pod is known only from the state of an earlier run; \`node-annotation\`: only an annotation of the Node names the address.`,
      'fine',
      { varies: true, live: false },
    ),
    'k8s.namespace.name': text(`Namespace of the ${end}.`, 'fine'),
    'k8s.pod.name': text(`Pod, if all packets belong to one Pod.`, 'avoid', { ocsf: `${ocsf}.name`, varies: true }),
    'k8s.pod.uid': text(`Its uid.`, 'avoid', { ocsf: `${ocsf}.uid` }),
    'k8s.pod.labels': text(
      `Labels of the setting \`auditLabels\`, in its order: \`app=web,team=shop\`. Absent if Pods of the record have different labels.`,
      'careful',
      { varies: true },
    ),
    'k8s.owner.kind': text(`Kind of the workload: \`Deployment\`, \`StatefulSet\`, …`, 'fine'),
    'k8s.owner.name': text(`Name of the workload, or of the Node or Service.`, 'careful', { ocsf: `${ocsf}.svc_name` }),
  };
}

type EndFields<E extends End> = {
  [Name in keyof ReturnType<typeof fieldsOfEnd> as `${E}.${Name}`]: ReturnType<typeof fieldsOfEnd>[Name];
};

/** The cast restores the names, which `fromEntries` loses. */
function endFields<const E extends End>(end: E): EndFields<E> {
  const named = Object.entries(fieldsOfEnd(end)).map(([name, field]) => [`${end}.${name}`, field] as const);
  return Object.fromEntries(named) as EndFields<E>;
}

export const fields = {
  '@timestamp': time('End of the interval; in `packet` mode when the packet was logged.', 'avoid', {
    ecs: '@timestamp',
    ocsf: 'time',
  }),
  'schema.version': text('MAJOR.MINOR of this table.', 'fine'),
  'event.id': text('Two records have the same id only if one record was sent twice.', 'avoid', {
    ecs: 'event.id',
    ocsf: 'metadata.uid',
  }),
  'event.name': text('Kind of the record.', 'fine', {
    live: false,
    ocsf: 'metadata.event_code',
    values: ['network.flow.drop', 'network.flow.log', 'network.flow.gap'],
  }),
  'event.action': text('Fate of the packets. In a gap, `lost`: records of the log are missing.', 'fine', {
    ecs: 'event.action',
    ocsf: 'action_id',
    values: ['dropped', 'rejected', 'logged', 'accepted', 'lost'],
  }),
  'event.start': time('First packet.', 'avoid', { ecs: 'event.start', ocsf: 'start_time' }),
  'event.end': time('Last packet.', 'avoid', { ecs: 'event.end', ocsf: 'end_time' }),
  'event.time_estimated': boolean('The log line had no time.', 'fine'),
  'event.reason': text('In a gap: the program that lost or suppressed records.', 'fine', { ecs: 'event.reason' }),
  'event.noise': text('Chatter of the link (multicast, broadcast, DHCP, …) that makes no Event, and its kind.', 'fine'),
  'k8s.cluster.name': text('The setting `cluster`.', 'fine', { ecs: 'orchestrator.cluster.name' }),
  'k8s.node.name': text('Node that logged it.', 'careful', { live: false, ecs: 'host.name', ocsf: 'device.hostname' }),
  'network.direction': text('Seen from the Pods of the node; `internal`: between two Pods of the node.', 'fine', {
    ecs: 'network.direction',
    ocsf: 'connection_info.direction_id',
    values: ['ingress', 'egress', 'internal'],
  }),
  'network.transport': text('IANA keyword in lower case.', 'fine', {
    ecs: 'network.transport',
    ocsf: 'connection_info.protocol_name',
  }),
  'network.type': text('Version of IP.', 'fine', {
    ecs: 'network.type',
    ocsf: 'connection_info.protocol_ver_id',
    values: ['ipv4', 'ipv6'],
  }),
  'network.reply': boolean('The packets were answers: the port is that of the source.', 'fine'),
  'network.packets': integer('Packets that were logged.', 'avoid', { ecs: 'network.packets', ocsf: 'traffic.packets' }),
  'network.packets_at_least': boolean(
    'Log records were lost or suppressed in this interval, so there were at least this many packets.',
    'fine',
  ),
  'icmp.type': integer('Type of an ICMP message.', 'fine'),
  'icmp.code': integer('Its code.', 'fine'),
  ...endFields('source'),
  ...endFields('destination'),
  'destination.domain': text(
    'Name by which the source looked up the destination, if the logger saw that (Hubble). Absent if addresses are truncated.',
    'careful',
    { ecs: 'destination.domain', ocsf: 'dst_endpoint.hostname', varies: true },
  ),
  'security_rule.name': text('The policy.', 'careful', { ecs: 'rule.name', ocsf: 'firewall_rule.name' }),
  'policy.kind': text('`NetworkPolicy`, `GlobalNetworkPolicy`, …', 'fine'),
  'policy.namespace': text('Namespace of the policy.', 'fine'),
  'policy.tier': text('Its tier.', 'fine'),
  'policy.evidence': text('`logged`: the LOG prefix or the logger names it.', 'fine', {
    values: ['logged'],
    live: false,
  }),
  'policy.verdict': text(
    'Verdict of the policies that were known when the interval was closed. `admitted`: something else dropped the packets.',
    'fine',
    { values: ['denied', 'admitted', 'unknown'], live: false },
  ),
  'policy.verdict_evidence': text(
    '`evaluated`: from the policies themselves. `logged`: the record of what enforces them says so.',
    'fine',
    { values: ['evaluated', 'logged'], live: false },
  ),
  'policy.direction': text('`ingress`: policies of the destination decided; `egress`: those of the source.', 'fine', {
    values: ['ingress', 'egress'],
  }),
  'policy.decided_by': text(
    'The policy whose rule decides or, if no rule does, the policies that isolate the Pod: `NetworkPolicy shop/default-deny,NetworkPolicy shop/web`; eight at most.',
    'careful',
    { live: false },
  ),
  'policy.decided_by_count': integer('Number of these policies, if not all are named.', 'avoid'),
  'policy.rule': text('The rule that decides: `ingress[0]`.', 'careful'),
  'policy.nearest': text(
    'If the flow was denied: the rule that fails in the fewest places: `NetworkPolicy shop/web ingress[0]`.',
    'careful',
  ),
  'policy.enforced_by': text('Kind of program that wrote the rule.', 'fine', {
    values: ['network-policy', 'host-firewall'],
  }),
  'log.logger': text('The format of the line.', 'fine', { ecs: 'log.logger', live: false }),
  'log.prefix': text('The LOG prefix.', 'careful', { live: false }),
  'log.records_lost': integer('In a gap: number of missing records, if known.', 'avoid', { live: false }),
  'interface.in': text('Interface the packets came from, if all came from the same.', 'avoid', {
    ecs: 'observer.ingress.interface.name',
    varies: true,
    live: false,
  }),
  'interface.out': text('Interface they were to leave by, if it was the same for all.', 'avoid', {
    ecs: 'observer.egress.interface.name',
    varies: true,
    live: false,
  }),
  'original.source.address': text('`packet` mode: source of the packet that an ICMP error is about.', 'avoid', {
    address: true,
  }),
  'original.destination.address': text('Its destination.', 'avoid', { address: true }),
  'original.destination.port': integer('The port there.', 'careful'),
  'original.network.transport': text('Its protocol.', 'fine'),
  'packet.size': integer('`packet` mode: bytes of the packet.', 'avoid', { ecs: 'network.bytes' }),
  'packet.ttl': integer('`packet` mode: TTL or hop limit.', 'avoid'),
  'packet.tcp_flags': text('`packet` mode: `SYN ACK`.', 'careful', { ocsf: 'connection_info.tcp_flags' }),
  'packet.mark': integer('`packet` mode: mark of the packet.', 'careful'),
  'packet.uid': integer('`packet` mode: user of the process that sent it.', 'careful'),
  'packet.mtu': integer(
    '`packet` mode: the MTU in an ICMP error, or the MTU of the link that a packet was too big for.',
    'careful',
  ),
  'packet.later_fragment': boolean('A fragment without ports.', 'fine'),
  'packet.incomplete': boolean('`packet` mode: the kernel could not print all of it.', 'fine'),
  'log.file.path': text('`packet` mode: the log.', 'careful', { ecs: 'log.file.path', live: false }),
  'log.file.line': integer('`packet` mode: its line.', 'avoid', { ecs: 'log.origin.file.line', live: false }),
} as const satisfies Readonly<Record<string, Field>>;

type Value = { string: string; time: string; integer: number; boolean: true };

/** The fields of a record; unknown and false ones are left out. */
export type FlowRecord = {
  -readonly [Name in keyof typeof fields]?: Value[(typeof fields)[Name]['type']] | undefined;
};

const rows: readonly (readonly [string, Field])[] = Object.entries(fields);

export function fieldsThat<Name extends keyof FlowRecord = keyof FlowRecord>(have: (field: Field) => boolean): Name[] {
  return rows.flatMap(([name, field]) => (have(field) ? [name as Name] : []));
}
