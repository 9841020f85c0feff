import { isName, networkOf } from '../../base/platform/address.ts';
import { mayName } from '../../base/model/readers.ts';
import { fieldsThat, type FlowRecord } from './fields.ts';
import type { OpenFlow } from './open-flows.ts';
import { rowText, withoutHiddenPolicies } from './record.ts';

/** Settings that remove data from records, before these are written anywhere. */
export interface Privacy {
  /** Whether peers in other Namespaces are named. */
  peers: 'shown' | 'redacted';
  /** The prefix lengths to which addresses are shortened. */
  bits: { ipv4: number; ipv6: number };
  /** Returns whether a Namespace asked not to be named. */
  isHidden: (namespace: string) => boolean;
  labels: readonly string[];
}

type End = 'source' | 'destination';
const ends = ['source', 'destination'] as const;

/** Returns the redaction; undefined if everything is shown, so that the hot path calls nothing. */
export function redactionOf(privacy: Privacy): ((fields: FlowRecord) => FlowRecord) | undefined {
  const { peers, bits, isHidden } = privacy;
  const cutsAddresses = bits.ipv4 < 32 || bits.ipv6 < 128;
  const namesAll = peers === 'shown' && isHidden === noNamespace;
  if (namesAll && !cutsAddresses) return undefined;
  return (fields) => {
    const foreign = peers === 'redacted' ? foreignPeerOf(fields) : undefined;
    const hidden = ends.filter((end) => {
      const namespace = namespaceOf(fields, end);
      return end === foreign || (namespace !== undefined && isHidden(namespace));
    });
    const shown = hidden.reduce(withoutEnd, fields);
    const redacted = withoutPolicy(
      shown,
      (policy) => isHidden(policy) || (foreign !== undefined && !isOfEnd(shown, policy)),
    );
    const redactedRecord = namesAll ? redacted : withoutOriginal(withoutForeignPolicies(redacted));
    return cutsAddresses ? withCutAddresses(redactedRecord, bits) : redactedRecord;
  };
}

/** Returns whether readers of the Namespace of a named end may know the policies of a Namespace. */
function isOfEnd(fields: FlowRecord, policy: string): boolean {
  return ends.some((end) =>
    mayName({ kind: undefined, namespace: policy }, { namespace: namespaceOf(fields, end) ?? '' }),
  );
}

export function noNamespace(): boolean {
  return false;
}

function namespaceOf(fields: FlowRecord, end: End): string | undefined {
  return fields[`${end}.k8s.namespace.name`];
}

/** Returns the end to hide: outside the policy's Namespace; without a policy, the destination of an egress packet, or the source of any other. */
function foreignPeerOf(fields: FlowRecord): End | undefined {
  const [source, destination] = ends.map((end) => namespaceOf(fields, end));
  if (source === undefined || destination === undefined || source === destination) return undefined;
  const policy = fields['policy.namespace'];
  if (policy === source) return 'destination';
  if (policy === destination) return 'source';
  return fields['network.direction'] === 'egress' ? 'destination' : 'source';
}

/** Removes the fields of an end, except its port. The interface is also removed, because CNI plug-ins name interfaces after Pods. */
function withoutEnd(fields: FlowRecord, end: End): FlowRecord {
  const kept = Object.entries(fields).filter(
    ([name]) => name === `${end}.port` || !(name.startsWith(`${end}.`) || name === interfaceOf[end]),
  );
  return { ...Object.fromEntries(kept), [`${end}.kind`]: 'redacted' };
}

const interfaceOf = { source: 'interface.in', destination: 'interface.out' } as const;

/** Removes the policy if its Namespace asked not to be named. No end needs to be of it, because an end whose Pod is unknown has none. */
function withoutPolicy(fields: FlowRecord, isHidden: Privacy['isHidden']): FlowRecord {
  const policy = fields['policy.namespace'];
  if (policy === undefined || !isHidden(policy)) return fields;
  const kept = Object.entries(fields).filter(
    ([name]) => !name.startsWith('policy.') && name !== 'security_rule.name' && name !== 'log.prefix',
  );
  return Object.fromEntries(kept);
}

/** Removes policies that would reveal the Namespace of a redacted end. */
export function withoutForeignPolicies(fields: FlowRecord): FlowRecord {
  if (!ends.some((end) => fields[`${end}.kind`] === 'redacted')) return fields;
  return withoutHiddenPolicies(fields, (namespace) => isOfEnd(fields, namespace));
}

/** Removes the packet in an ICMP error, because it may have addresses of redacted ends. */
function withoutOriginal(fields: FlowRecord): FlowRecord {
  const { 'original.source.address': source, 'original.destination.address': destination, ...kept } = fields;
  return source === undefined && destination === undefined ? fields : kept;
}

type AddressField = `${'' | 'original.'}${End}.address`;
const addressFields = fieldsThat<AddressField>(({ address }) => address === true);

function withCutAddresses(fields: FlowRecord, bits: Privacy['bits']): FlowRecord {
  const { 'destination.domain': _, ...cut }: FlowRecord = fields;
  for (const name of addressFields) {
    const address = fields[name];
    if (address !== undefined) cut[name] = cutAddress(address, bits);
  }
  return cut;
}

/** Shortens an address. If it was already shortened, it is shortened further or stays. A name is not an address, and also stays. */
function cutAddress(address: string, bits: Privacy['bits']): string | undefined {
  const [bare = '', length] = address.split('/', 2);
  const limits =
    length === undefined
      ? bits
      : { ipv4: Math.min(bits.ipv4, Number(length)), ipv6: Math.min(bits.ipv6, Number(length)) };
  return networkOf(bare, limits) || (isName(address) ? address : undefined);
}

interface Restorable {
  flows: readonly OpenFlow[];
  rows: readonly (readonly [number: string, row: string])[];
}

/** Redacts an earlier run's records by the present settings, also their labels. Hidden Namespaces are not known yet. */
export function redactionOfKept(
  privacy: Privacy,
  { rows, flows }: Restorable,
): ((fields: FlowRecord) => FlowRecord) | undefined {
  const redact = redactionOf({ ...privacy, isHidden: noNamespace });
  const isWithLabels =
    rows.some(([, row]) => row.includes('.k8s.pod.labels"')) ||
    flows.some(({ fields }) => ends.some((end) => fields[`${end}.k8s.pod.labels`] !== undefined));
  if (!isWithLabels) return redact;
  return (fields) => withLabels(redact?.(fields) ?? fields, privacy.labels);
}

function withLabels(fields: FlowRecord, names: readonly string[]): FlowRecord {
  const shown = { ...fields };
  for (const end of ends) {
    const labels = fields[`${end}.k8s.pod.labels`]?.split(',');
    if (labels === undefined) continue;
    const kept = labels.filter((label) => names.includes(label.slice(0, label.indexOf('='))));
    if (kept.length > 0) shown[`${end}.k8s.pod.labels`] = kept.join(',');
    else delete shown[`${end}.k8s.pod.labels`];
  }
  return shown;
}

/** Redacts the state. Ids and numbers stay, so that a record that is sent again is the same record. */
export function redactRestored<Kept extends Restorable>(state: Kept, redact: (fields: FlowRecord) => FlowRecord): Kept {
  return {
    ...state,
    rows: state.rows.map(([number, row]) => [number, rowText(redact(JSON.parse(row) as FlowRecord))]),
    flows: state.flows.map((flow, index) => redactFlow(flow, redact, index)),
  };
}

function redactFlow(flow: OpenFlow, redact: (fields: FlowRecord) => FlowRecord, index: number): OpenFlow {
  const fields = redact(flow.fields);
  if (JSON.stringify(fields) === JSON.stringify(flow.fields)) return flow;
  const others = (end: End): string[] => {
    if (fields[`${end}.kind`] === 'redacted') return [];
    const all = flow.others[end].flatMap((address) => redact({ [`${end}.address`]: address })[`${end}.address`] ?? []);
    return [...new Set(all)].filter((address) => address !== fields[`${end}.address`]);
  };
  return {
    ...flow,
    // Replace the key, because it contains the names of the ends.
    key: JSON.stringify(['redacted', index]),
    subject: '',
    namespace: '',
    fields,
    others: { source: others('source'), destination: others('destination') },
  };
}
