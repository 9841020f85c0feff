/** Says what is wrong with a node for longer than a moment: from lines of its kernel, kube-proxy and calico-node to findings. */
export { objectToPatch } from './catalogue/behind.ts';
export { causeOf, diagnose, hints, programNeedles, signOf } from './catalogue/catalogue.ts';
export type { ConnectionTracking } from './facts.ts';
export type { Incident, IncidentChange } from './incident.ts';
export { createNodeIncidents, type NodeIncidents, type NodeIncidentsState } from './node-incidents.ts';
export { serviceLimit } from './reporting/details.ts';
export { conditionType, incidentMessage, type RulesCondition, rulesConditionOf } from './reporting/message.ts';
