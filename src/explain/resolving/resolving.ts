/** Finds the owner of an address or an interface at a moment, from lists of the cluster and look-ups. */
export { type AddressBook, type AddressOwner, indexByAddress, ownerOfAddress } from './address-owners.ts';
export { createEndpointFinder, type EndpointFinder, type Moment, nodeRefOf } from './endpoint-finder.ts';
export { externalEndpoint, indexPodRanges, nodeRef } from './endpoints.ts';
export { createKeptPods, type KeptPods } from './kept-pods.ts';
export { createLiveLists, defaultLiveLimits, type LiveLists } from './live-lists.ts';
export {
  createFinderChain,
  createLookup,
  type FinderChain,
  type LookupCounts,
  OverBudget,
  type Owners,
  type PodFinder,
  type FinderState,
} from './lookups/lookup.ts';
export { createRemoteLookups, type RemoteLookups } from './lookups/remote.ts';
export { createReverseDns } from './lookups/reverse-dns.ts';
export {
  backendsIn,
  type ClusterObjects,
  createInterner,
  type EndpointSlice,
  mostServicePorts,
  type Node,
  type Owner,
  packEndpoints,
  type Pod,
  podOfProgram,
  type Service,
  type ServicePort,
  type ServiceTarget,
  workloadOf,
} from './objects.ts';
export { weightOfNode, weightOfPod, weightOfService, weightOfSlice } from './object-weights.ts';
export { shorten } from './node-index.ts';
export { generateNameOf } from './pod-index.ts';
export { onSteadyClock, packPorts, podFromRecord, podRecordOf } from './pod-record.ts';
export { endsOf, loggedNode, resolveMartian, resolvePacket } from './resolver.ts';
export { createChainIndex, type PublishedTargets } from './service-chains/chain-index.ts';
