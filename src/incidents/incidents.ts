/** Says what is wrong with a node for longer than a moment: from lines of its kernel, kube-proxy and calico-node to findings. */
export { causeOf, diagnose, hints } from './catalogue/catalogue.ts';
export { objectToPatch } from './catalogue/behind.ts';
export { programNeedles, signOf } from './catalogue/sign-of.ts';
export type { ConnectionTracking } from './facts.ts';
export type { Incident, IncidentChange } from './incident.ts';
export { conditionType, type RulesCondition, rulesConditionOf } from './node-condition.ts';
export { createNodeIncidents, type NodeIncidents, type NodeIncidentsState } from './node-incidents.ts';
export { serviceLimit } from './reporting/details.ts';
export { incidentMessage } from './reporting/message.ts';
