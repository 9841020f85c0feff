/**
 * Policies of Calico, as its API server serves them (projectcalico.org/v3) or as they are stored (crd.projectcalico.org/v1): NetworkPolicy,
 * GlobalNetworkPolicy, and their staged forms.
 */
import { at, type Json, list, shown, text } from '../../platform/json.ts';
import { requireLabels } from '../calico/endpoint.ts';
import { readOrder, tierNameOf } from '../calico/objects.ts';
import { type Selector, selects } from '../calico/selector.ts';
import type { Endpoint, LabelSet } from '../clauses/labels.ts';
import type { Direction, Match } from '../model.ts';
import type { Policy, Staged, Subject } from '../policy.ts';
import type { RequirementCollector } from '../requirements.ts';
import { readCalicoRule } from './calico-rule.ts';
import { subjectSelector } from './calico-selectors.ts';
import { calicoPolicyFields, strangeField } from './fields.ts';
import { compileNetworkPolicy } from './network-policy.ts';
import { changedOf, refOf, unknownPolicy } from './read.ts';

export function compileCalicoPolicy(object: Json): Policy {
  const { kind } = refOf(object);
  const namespace = kind.includes('Global') ? undefined : (text(at(object, 'metadata', 'namespace')) ?? 'default');
  const policy = kind === 'StagedKubernetesNetworkPolicy' ? compileNetworkPolicy(object) : compile(object, namespace);
  return kind.startsWith('Staged') ? { ...policy, staged: stagedOf(object) } : policy;
}

function stagedOf(object: Json): Staged {
  const action = at(object, 'spec', 'stagedAction') ?? 'Set';
  if (action === 'Delete') return 'delete';
  return action === 'Set' ? 'set' : 'nothing';
}

function compile(object: Json, namespace: string | undefined): Policy {
  const ref = { ...refOf(object), namespace };
  const spec = at(object, 'spec');
  const tier = tierNameOf(text(at(spec, 'tier')) ?? 'default');
  const order = readOrder(at(spec, 'order'));
  if (order === undefined) return unknownPolicy(object, tier, 'its order is no number');
  const strange = strangeField(spec, calicoPolicyFields);
  if (strange !== undefined) return unknownPolicy(object, tier, `it has the unknown field ${strange}`);
  const { selector, text: selected } = subjectSelector(spec, namespace);
  // Such policies are asked before the destination is translated or the connection is tracked, and never for Pods (felix/calc/event_sequencer.go).
  const isForPods = at(spec, 'preDNAT') !== true && at(spec, 'doNotTrack') !== true;
  const types = typesOf(spec, ref.apiVersion);
  const rules = (direction: Direction): Policy['rules'][Direction] =>
    isForPods && types.includes(direction)
      ? list(at(spec, direction)).flatMap((each) => readCalicoRule(each, namespace))
      : undefined;
  return {
    ref,
    tier,
    order,
    subject: new CalicoSubject(selector, selected),
    rules: { ingress: rules('ingress'), egress: rules('egress') },
    changed: changedOf(object),
  };
}

/** The API fills types in from the rules (api/pkg/defaults). Of what is stored without any, Felix reads both (calc/policy_sorter.go). */
function typesOf(spec: Json, apiVersion: string): Direction[] {
  const types = list(at(spec, 'types')).map((each) => shown(each).toLowerCase());
  const has = (direction: Direction): boolean => list(at(spec, direction)).length > 0;
  if (types.length > 0) return (['ingress', 'egress'] as const).filter((each) => types.includes(each));
  if (apiVersion.startsWith('crd.')) return ['ingress', 'egress'];
  if (!has('egress')) return ['ingress'];
  return has('ingress') ? ['ingress', 'egress'] : ['egress'];
}

/** Pods by one selector of Calico. */
class CalicoSubject implements Subject {
  readonly #selector: Selector | string;
  readonly #text: string;

  constructor(selector: Selector | string, selected: string) {
    this.#selector = selector;
    this.#text = selected;
  }

  selects(_pod: LabelSet, _namespace: LabelSet, endpoint: Endpoint): Match {
    return typeof this.#selector === 'string' ? this.#selector : selects(this.#selector, endpoint.labelOf);
  }

  requires(into: RequirementCollector): void {
    if (typeof this.#selector !== 'string') requireLabels(this.#selector, into);
  }

  text(): string {
    return this.#text;
  }
}
