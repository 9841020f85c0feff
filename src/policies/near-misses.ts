/** Finds what keeps a rule from admitting a connection, where it is one field only: an exception that was meant, or a port name with a typo. */
import type { Clause } from './clauses/clause.ts';
import { BlockPeer } from './clauses/peers.ts';
import { namesOf, PortName } from './clauses/ports.ts';
import type { Pod, PolicyRef } from './model.ts';
import type { Selecting } from './policy-set.ts';
import type { Rule } from './policy.ts';
import type { Probe } from './probe.ts';

/** An `except` of an ipBlock, but for which the rule would admit. */
export interface Exception {
  readonly policy: PolicyRef;
  readonly path: string;
  readonly except: string;
}

/** A name that no known Pod of the Namespace has for a port, but for which the rule would admit. */
export interface DeadPortName {
  readonly policy: PolicyRef;
  readonly path: string;
  readonly name: string;
  /** The Pod's name of the connection's port. */
  readonly own: readonly string[];
}

export interface NearMisses {
  readonly exceptions: readonly Exception[];
  readonly portNames: readonly DeadPortName[];
}

/** `pods`: those that are known. */
export function nearMisses(selecting: readonly Selecting[], probe: Probe, pods: readonly Pod[]): NearMisses {
  const exceptions: Exception[] = [];
  const portNames: DeadPortName[] = [];
  for (const { policy } of selecting)
    for (const [index, rule] of (policy.rules[probe.direction] ?? []).entries()) {
      if (rule.action !== 'admit') continue;
      for (const { clause, field, place } of onlyFailing(rule, probe)) {
        const found = { policy: policy.ref, path: `${rule.path ?? `${probe.direction}[${index}]`}.${field}[${place}]` };
        const except = clause instanceof BlockPeer ? clause.exceptionFor(probe) : undefined;
        if (except !== undefined) exceptions.push({ ...found, except });
        if (clause instanceof PortName && isDead(clause, probe, pods))
          portNames.push({ ...found, name: clause.name, own: ownNames(probe) });
      }
    }
  return { exceptions, portNames };
}

/** The clauses of the one group that does not match; nothing where there are several. */
function onlyFailing({ groups }: Rule, probe: Probe): { clause: Clause; field: string; place: number }[] {
  const failing = groups.filter(({ alternatives }) => !alternatives.some((clause) => clause.matches(probe) === true));
  const [group, ...more] = failing;
  if (group === undefined || more.length > 0) return [];
  return group.alternatives.map((clause, place) => ({ clause, field: group.field, place }));
}

/** Whether no known Pod of the Namespace has a port of that name. */
function isDead({ name }: PortName, { flow: { destination, protocol } }: Probe, pods: readonly Pod[]): boolean {
  if (destination.kind !== 'pod') return false;
  const { namespace } = destination.pod;
  const inNamespace = [destination.pod, ...pods.filter((each) => each.namespace === namespace)];
  return !inNamespace.some(({ ports = [] }) => ports.some((port) => port.name === name && port.protocol === protocol));
}

function ownNames({ flow }: Probe): string[] {
  return flow.destination.kind === 'pod' ? namesOf(flow.destination.pod, flow) : [];
}
