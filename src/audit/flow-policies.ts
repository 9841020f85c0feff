/** What policies say of open flows, for their records. */
import type { PolicyFacts } from '../drops/policy-facts.ts';
import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import type { FlowRecord } from './fields.ts';
import type { OpenFlow } from './open-flows.ts';
import { policyFields } from './policy-fields.ts';
import { withoutForeignPolicies } from './privacy.ts';

/** What policies say by what is known already; undefined: nothing. `first`: when the first packet was dropped. */
export type PoliciesOn = (findings: readonly Finding[], first: Millis) => PolicyFacts | undefined;

export function createFlowPolicies(policiesOn: PoliciesOn | undefined) {
  /** Of the first packet of each flow. They are not kept: after a restart a row only lacks what policies say. */
  const found = new WeakMap<OpenFlow, readonly Finding[]>();
  return {
    note(flow: OpenFlow, findings: readonly Finding[] | undefined): void {
      if (policiesOn !== undefined && findings !== undefined && !found.has(flow)) found.set(flow, findings);
    },
    /** The record with it. Once for each: it is kept and sent again as it is. */
    addTo(record: FlowRecord, flow: OpenFlow): FlowRecord {
      const findings = found.get(flow);
      const facts = findings && policiesOn?.(findings, flow.first);
      return facts === undefined ? record : withoutForeignPolicies({ ...record, ...policyFields(facts, 'evaluated') });
    },
  };
}
