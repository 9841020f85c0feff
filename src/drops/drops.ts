/** Makes findings about a dropped packet: whose problem it is, why, and what to do. It also says what policies decide about it. */
export { nameOf } from './names.ts';
export { bareFlow, explainMartian, explainPacket } from './findings.ts';
export { icmpName } from './names.ts';
export { dropMessage } from './message.ts';
export { noiseOf } from './findings.ts';
export { loggedName, policyFacts, type PolicyFacts } from './policy-trace.ts';
export { askedOf, type KnownPolicies, policyNeeds, type PolicyNeeds, questionOf } from './policy-trace.ts';
export { policyVerdict, type PolicyVerdict } from './policy-verdict.ts';
