/** Says which policies admit or deny a connection, and why. */
export { createEvaluator, type Evaluator, unknownTrace } from './evaluate.ts';
export type * from './model.ts';
export { lastingContainers, readNamespace, readNode, readPod } from './api/read.ts';
export { type ServiceCollector, type ServiceEndpoints, serviceNameLabel } from './calico/objects.ts';
export type { Requirements } from './policy.ts';
export { awayPolicy, refOf, unknownPolicy } from './api/read.ts';
export {
  type CalicoCollector,
  type CalicoKind,
  type CalicoObjects,
  collectCalicoObjects,
  type NetworkSet,
} from './calico/objects.ts';
export { compilePolicy, policyProblems } from './compile.ts';
export type { FieldProblem } from './api/fields.ts';
export { createPolicySet, type PolicySet } from './policy-set.ts';
export { createSelectionCache } from './selection-cache.ts';
export { connectionOf } from './probe.ts';
export { deniedPods, deniesTheRest, policyRefText, sentenceOf, type SentenceOptions, tierText } from './sentence.ts';
export { openedPorts, suggest, type PolicySuggestion, type SuggestOptions, type Suggestion } from './suggest.ts';
export type { OwningWorkload } from './suggest-selector.ts';
export type { Policy } from './policy.ts';
export { maxTraced } from './traces.ts';
export { anyTier, isCalico, isCilium, networkPolicyTier, Unknown } from './model.ts';
export { largestWeightOf, weightOfPolicy, weightOfSpec } from './weight.ts';
