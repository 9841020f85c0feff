/** Makes findings about a dropped packet: whose problem it is, why, and what to do. It also says what policies decide about it. */
export { deniedBy } from './denied-by.ts';
export { bareFlow, explainMartian, explainPacket, sidesOf } from './findings.ts';
export { dropMessage, isAboutSending } from './message.ts';
export { icmpName, endpointName } from './names.ts';
export { noiseOf } from './noise.ts';
export {
  askedOf,
  type KnownPolicies,
  loggedName,
  policyFacts,
  policyNeeds,
  type PolicyNeeds,
  questionOf,
} from './policy-trace.ts';
export { foundAnswer, policyAnswer, policyVerdict } from './policy-verdict.ts';
