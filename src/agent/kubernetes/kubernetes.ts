/** Talks to the API server: requests, lists and watches, small copies of API objects, and the objects that this program writes. */
export { type ClusterWatch, createClusterWatch } from './cluster-watch.ts';
export { type Answer, type Connection, createConnection, findAccess, type Query } from './connection.ts';
export { isStrange } from './refusals.ts';
export { type Access, isTooLarge, refusalOfError, RefusedError } from './http.ts';
export { createBackendLookup, createFelixReader } from './incident-facts.ts';
export type { InformerProblem, WatchedResource } from './informer.ts';
export { pagedList, informerOf, type ListInformerOptions } from './list-informers.ts';
export { countAll, listAll, watchEvents } from './list-watch.ts';
export { createPodFinders, type PodRanges } from './pod-finders.ts';
export {
  calicoKinds,
  clusterPolicyKinds,
  discoverKinds,
  listPolicies,
  namespacedPolicyKinds,
  networkSetKinds,
  type PolicyKind,
  servedKinds,
  unevaluatedPolicy,
  unlistedPolicy,
  unlistedReason,
  unreadKindOf,
} from './policy-kinds.ts';
export {
  type ClusterPolicies,
  createPolicyReader,
  type KnownPod,
  type NamespacePolicies,
  type NetworkSets,
  type PolicyReader,
} from './policy-objects.ts';
export { createPolicyViews } from './policy-view.ts';
export { grantRights, grantRightTo, isAllowed, policiesFile, reviewRight, rightsFile } from './rights.ts';
export { ifUsable, slimNode, slimPod } from './slim.ts';
export { type ConditionStore, createConditionStore, createEventStore, type NodeCondition } from './written-objects.ts';
export { allNamespaces, type ListReport } from './weighed-lists.ts';
