/** Finds lasting problems of a node in the lines of its kernel, kube-proxy and calico-node, and makes findings of them. */
export { objectToPatch } from './catalogue/behind.ts';
export { causeOf, diagnose, hints, programNeedles, signOf } from './catalogue/catalogue.ts';
export type { ConnectionTracking } from './facts.ts';
export type { Incident, IncidentChange } from './incident.ts';
export { createNodeIncidents, type NodeIncidents, type NodeIncidentsState } from './node-incidents.ts';
export { serviceLimit } from './reporting/details.ts';
export { conditionType, incidentMessage, type RulesCondition, rulesConditionOf } from './reporting/message.ts';
