/** The owner of one of kube-proxy's chains, and the endpoints of a Service. Plain data. */
import type { ObjectRef } from './endpoint.ts';

export interface ChainOwner {
  /** `uid` is empty where the Service is known by the chain's name, or by its EndpointSlices, only. */
  service: ObjectRef;
  /** Name, or number where it has none; '' for one without a name of a Service that is not known. */
  port: string;
  /** The Service is gone. */
  deleted: boolean;
}

/** An endpoint of a Service. */
export interface Backend {
  pod: { namespace: string; name: string } | undefined;
  /** Canonical. */
  address: string;
  node: string | undefined;
  ready: boolean;
}

export interface ServiceChains {
  /** Undefined for chains that are of no known Service. */
  ownerOf: (chain: string) => ChainOwner | undefined;
  /** Endpoints as far as EndpointSlices are known, ready or not. */
  backendsOf: (namespace: string, name: string) => readonly Backend[];
}
