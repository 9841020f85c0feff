import { hash } from 'node:crypto';
import { loggedName } from '../../explain/drops/drops.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import type { PolicyFacts } from '../../base/model/policy-answer.ts';
import { parsed } from '../../base/platform/json.ts';
import { printableJson } from '../../base/platform/printable.ts';
import { type FlowRecord, schemaVersion } from './fields.ts';

export function rowText(record: FlowRecord): string {
  return `${printableJson(JSON.stringify(record))}\n`;
}

/**
 * The Namespace whose share of the audit's room a record takes: that of the sending Pod or, without one, of the receiving Pod; '' if no Pod
 * is named.
 */
export function namespaceOfRecord(record: FlowRecord): string {
  const { 'source.k8s.namespace.name': source, 'destination.k8s.namespace.name': destination } = record;
  if (record['source.kind'] !== 'Pod' && record['destination.kind'] === 'Pod') return destination ?? '';
  return source ?? destination ?? '';
}

export function namespaceOfRow(row: string): string {
  const record = parsed(row);
  return typeof record === 'object' && record !== null ? namespaceOfRecord(record) : '';
}

/** `identity` is equal only for the same record. */
export function headOf(at: Millis, name: FlowRecord['event.name'], identity: readonly unknown[]): FlowRecord {
  return {
    '@timestamp': stampOf(at),
    'schema.version': schemaVersion,
    'event.id': hash('sha256', JSON.stringify(identity)).slice(0, 24),
    'event.name': name,
  };
}

export function stampOf(time: Millis): string {
  return new Date(time).toISOString();
}

/** The longest list in bytes. If a list is longer, whole names are left out. */
const longest = 1000;

function policyFields(facts: PolicyFacts, evidence: 'evaluated' | 'logged'): FlowRecord {
  const { verdict, direction, decidedBy, count, rule, nearest } = facts;
  const named = fitting(decidedBy);
  return {
    'policy.verdict': verdict,
    'policy.verdict_evidence': evidence,
    'policy.direction': direction,
    'policy.decided_by': named.join(',') || undefined,
    'policy.decided_by_count': count > named.length ? count : undefined,
    'policy.rule': rule,
    'policy.nearest': nearest,
  };
}

/** Adds what known policies say of a flow. A verdict that its logger gave stays; if they agree, they add the rule. */
export function withPolicies(record: FlowRecord, facts: PolicyFacts): FlowRecord {
  if (record['policy.verdict_evidence'] !== 'logged') return { ...record, ...policyFields(facts, 'evaluated') };
  const agrees = facts.verdict === 'denied' && facts.decidedBy.includes(record['policy.decided_by'] ?? '');
  return agrees ? { ...record, 'policy.rule': facts.rule, 'policy.nearest': facts.nearest } : record;
}

function fitting(names: readonly string[]): readonly string[] {
  let bytes = 0;
  const past = names.findIndex((name) => (bytes += Buffer.byteLength(name) + 1) > longest);
  return past < 0 ? names : names.slice(0, past);
}

/**
 * Records of programs that enforce policies (Antrea, OVN, AWS for ClusterNetworkPolicies, of which only the tier is named) are verdicts. A
 * LOG prefix only shows that a rule matched.
 */
export function loggedVerdict(observation: PacketObservation): FlowRecord {
  const { enforcer, policy, clusterTier, prefix, verdict } = observation;
  if (enforcer !== 'network-policy' || prefix !== '' || verdict === 'logged') return {};
  if (policy === undefined && clusterTier === undefined) return {};
  const decidedBy = policy === undefined ? [] : [loggedName(policy)];
  const facts: PolicyFacts = {
    verdict: verdict === 'accepted' ? 'admitted' : 'denied',
    direction: undefined,
    decidedBy,
    count: decidedBy.length,
    rule: undefined,
    nearest: undefined,
  };
  return policyFields(facts, 'logged');
}

/** Removes the policies if one of them is in a hidden Namespace. */
export function withoutHiddenPolicies(fields: FlowRecord, isShown: (namespace: string) => boolean): FlowRecord {
  const names = [...(fields['policy.decided_by']?.split(',') ?? []), fields['policy.nearest'] ?? ''];
  if (names.every((name) => isShownName(name, isShown))) return fields;
  const {
    'policy.decided_by': _,
    'policy.decided_by_count': __,
    'policy.rule': ___,
    'policy.nearest': ____,
    ...rest
  } = fields;
  return rest;
}

function isShownName(name: string, isShown: (namespace: string) => boolean): boolean {
  const [, namespace] = /^\S* ([^/]*)\//.exec(name) ?? [];
  return namespace === undefined || isShown(namespace);
}
