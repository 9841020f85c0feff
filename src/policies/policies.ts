/** Entry of the slice: which policies admit or deny a connection, and why. */
export { createEvaluator, type Evaluator, type EvaluatorOptions } from './evaluate.ts';
export type * from './model.ts';
export { compilePolicy, createPolicySet, type PolicySet } from './policy-set.ts';
export type { Policy } from './tiers.ts';
