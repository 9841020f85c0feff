/** Makes findings of a dropped packet: whose problem it is, why, and what to do; and says what policies decide about it. */
export { nameOf } from './endpoint-name.ts';
export { bareFlow, explainMartian, explainPacket } from './findings.ts';
export { icmpName } from './icmp-names.ts';
export { dropMessage } from './message.ts';
export { noiseOf } from './noise.ts';
export { loggedName, policyFacts, type PolicyFacts } from './policy-facts.ts';
export { askedOf, type KnownPolicies, policyNeeds, type PolicyNeeds, questionOf } from './policy-trace.ts';
export { policyVerdict, type PolicyVerdict } from './policy-verdict.ts';
