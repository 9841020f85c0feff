/**
 * Objects of Calico that are no policies but change what policies mean (api/pkg/apis/projectcalico/v3): as its API server serves them, or
 * as they are stored (crd.projectcalico.org/v1). Nothing here throws: an object that is broken is none.
 */
import { canonicalAddress, isIPv6 } from '../../platform/address.ts';
import { isLabel, isSubdomain } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, strings, text } from '../../platform/json.ts';
import { parseRange, type Range } from '../clauses/networks.ts';
import type { Labels } from '../model.ts';
import { isCalico, networkPolicyTier, type Tier } from '../tiers.ts';
import { collectServices, type EndpointsOf, type ServiceCollector } from './services.ts';

/** A NetworkSet, or a GlobalNetworkSet. */
export interface NetworkSet {
  /** Undefined: global. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly labels: Labels;
  readonly ranges: readonly Range[];
}

export interface HostEndpoint {
  readonly name: string;
  readonly node: string | undefined;
  /** Canonical text (platform/address.ts). */
  readonly addresses: readonly string[];
}

/** Kinds of which there may be more objects than are known. */
export type CalicoKind = 'tiers' | 'networksets' | 'hostendpoints';

export interface CalicoObjects {
  readonly tiers: readonly Tier[];
  readonly networkSets: readonly NetworkSet[];
  readonly hostEndpoints: readonly HostEndpoint[];
  /** Keyed by `NAMESPACE/NAME`; the labels of one that is not listed are unknown. */
  readonly serviceAccounts: ReadonlyMap<string, Labels>;
  readonly endpointsOf: EndpointsOf;
  /** Objects that could not be read, so that there may be some. */
  readonly unread: ReadonlySet<CalicoKind>;
}

/** Any defaultAction but Pass is Deny (updateprocessors/tierprocessor.go). */
function readTier(calicoName: string, spec: Json): Tier | undefined {
  const order = readOrder(at(spec, 'order'));
  if (order === undefined) return undefined;
  const end = at(spec, 'defaultAction') === 'Pass' ? 'next' : 'deny';
  return { name: tierNameOf(calicoName), calicoName, order, end };
}

function readHostEndpoint(name: string, spec: Json): HostEndpoint {
  const addresses = list(at(spec, 'expectedIPs')).map((each) => canonicalAddress(text(each) ?? ''));
  return { name, node: text(at(spec, 'node')), addresses: addresses.filter((each) => each !== '') };
}

/** Absent: last. Undefined for what is no order. */
export function readOrder(order: Json): number | undefined {
  if (order === undefined || order === null) return Infinity;
  return typeof order === 'number' && Number.isFinite(order) ? order : undefined;
}

/** Calico's names of the tiers in which it puts policies of Kubernetes: from release 3.32 on, and before. */
const kubernetesNames: ReadonlyMap<string, string> = new Map([
  ['default', networkPolicyTier],
  ['kube-admin', 'Admin'],
  ['adminnetworkpolicy', 'Admin'],
  ['kube-baseline', 'Baseline'],
  ['baselineadminnetworkpolicy', 'Baseline'],
]);

export function tierNameOf(calicoName: string): string {
  return kubernetesNames.get(calicoName) ?? calicoName;
}

/** Leaves out what is no network, as Calico does. */
function rangesOf(spec: Json): Range[] {
  return list(at(spec, 'nets'))
    .map((each) => parseNet(each))
    .filter((range) => range !== undefined);
}

/** An address is the network of that address only. */
export function parseNet(value: Json): Range | undefined {
  const given = text(value);
  if (given === undefined) return undefined;
  return parseRange(given.includes('/') ? given : `${given}/${isIPv6(given) ? 128 : 32}`);
}

export interface CalicoCollector {
  /** False for an object of any other kind. Of two of one name the later counts. */
  readonly add: (object: Json) => boolean;
  /** Objects of that kind could not be read. */
  readonly unread: (kind: CalicoKind) => void;
  readonly services: Omit<ServiceCollector, 'add'>;
  readonly read: () => CalicoObjects;
}

export function collectCalicoObjects(): CalicoCollector {
  const tiers = new Map<string, Tier>();
  const networkSets = new Map<string, NetworkSet>();
  const hostEndpoints = new Map<string, HostEndpoint>();
  const serviceAccounts = new Map<string, Labels>();
  const services = collectServices();
  const unread = new Set<CalicoKind>();
  return {
    add,
    services,
    unread: (kind) => void unread.add(kind),
    read: () => ({
      tiers: [...tiers.values()],
      networkSets: [...networkSets.values()],
      hostEndpoints: [...hostEndpoints.values()],
      serviceAccounts,
      endpointsOf: services.endpointsOf,
      unread,
    }),
  };

  function add(object: Json): boolean {
    const apiVersion = text(at(object, 'apiVersion')) ?? '';
    const kind = text(at(object, 'kind'));
    const name = spelled(at(object, 'metadata', 'name'), isSubdomain);
    const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
    const isAccount = apiVersion === 'v1' && kind === 'ServiceAccount';
    if (name === undefined || namespace === undefined || !(isAccount || isCalico({ apiVersion })))
      return services.add(object);
    const spec = at(object, 'spec');
    const labels = strings(at(object, 'metadata', 'labels'));
    const tier = kind === 'Tier' ? readTier(name, spec) : undefined;
    if (isAccount) serviceAccounts.set(`${namespace}/${name}`, labels);
    else if (tier !== undefined) tiers.set(name, tier);
    else if (kind === 'HostEndpoint') hostEndpoints.set(name, readHostEndpoint(name, spec));
    else if (kind === 'NetworkSet')
      networkSets.set(`${namespace}/${name}`, { namespace, name, labels, ranges: rangesOf(spec) });
    else if (kind === 'GlobalNetworkSet')
      networkSets.set(`/${name}`, { namespace: undefined, name, labels, ranges: rangesOf(spec) });
    else return services.add(object);
    return true;
  }
}
