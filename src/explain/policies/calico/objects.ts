/**
 * Reads the objects that decide what Calico's policies mean (api/pkg/apis/projectcalico/v3), as served or as stored
 * (crd.projectcalico.org/v1), and the EndpointSlices that rules with `services` match. Broken objects are ignored.
 */
import { canonicalAddress, isIPv6 } from '../../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../../base/platform/api-names.ts';
import { at, type Json, list, shown, spelled, strings, text } from '../../../base/platform/json.ts';
import { parseRange, type Range } from '../clauses/networks.ts';
import { type Labels, type Tier, Unknown, isCalico, networkPolicyTier } from '../model.ts';

export interface NetworkSet {
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

export type CalicoKind = 'tiers' | 'networksets' | 'hostendpoints';

export interface CalicoObjects {
  readonly tiers: readonly Tier[];
  readonly networkSets: readonly NetworkSet[];
  readonly hostEndpoints: readonly HostEndpoint[];
  /** By `NAMESPACE/NAME`. The labels of a ServiceAccount that is not listed are unknown. */
  readonly serviceAccounts: ReadonlyMap<string, Labels>;
  readonly endpointsOf: EndpointsOf;
  readonly unread: ReadonlySet<CalicoKind>;
}

/** Calico treats any defaultAction except Pass as Deny (updateprocessors/tierprocessor.go). */
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

/** Infinity (last) if absent, undefined if invalid. */
export function readOrder(order: Json): number | undefined {
  if (order === undefined || order === null) return Infinity;
  return typeof order === 'number' && Number.isFinite(order) ? order : undefined;
}

/** Maps Calico's names of the tiers of Kubernetes' policies, from before release 3.32 and since, to ours. */
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

function rangesOf(spec: Json): Range[] {
  return list(at(spec, 'nets'))
    .map((each) => parseNet(shown(each)))
    .filter((range) => range !== undefined);
}

export function parseNet(net: string): Range | undefined {
  return parseRange(net.includes('/') ? net : `${net}/${isIPv6(net) ? 128 : 32}`);
}

export interface CalicoCollector {
  /** Returns false for objects of other kinds, and for some broken ones. */
  add: (object: Json) => boolean;
  readonly services: ServiceCollector;
  unread: (kind: CalicoKind) => void;
  read: () => CalicoObjects;
}

/** If two objects have the same name, the later one counts. */
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
    unread: (kind: CalicoKind): void => void unread.add(kind),
    read: (): CalicoObjects => ({
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

/** Maps the addresses of a Service's endpoints (canonical text, platform/address.ts) to their ports, such as `TCP/5432`. */
export type ServiceEndpoints = ReadonlyMap<string, ReadonlySet<string>>;

/** `service`: `NAMESPACE/NAME`. */
export type EndpointsOf = (service: string) => ServiceEndpoints | Unknown;

/**
 * Limits the kept endpoints of one Service, because its owner may create any number: a slice of 500 KB may give a thousand addresses ten
 * thousand ports each. `ports`: of all addresses together, including repeated ones.
 */
export const mostOfService = { addresses: 5000, portsOfAddress: 128, ports: 50_000 };

interface FoundEndpoints {
  readonly addresses: Map<string, Set<string>>;
  /** The number of ports that may still be added; negative if there were more. */
  room: number;
}

export const serviceNameLabel = 'kubernetes.io/service-name';

export interface ServiceCollector {
  /** Returns false for other objects than EndpointSlices. Endpoints that are not ready count, too (felix/serviceindex/serviceindex.go). */
  add: (object: Json) => boolean;
  complete: (service: string) => void;
  /** Ends the input. If it had any EndpointSlice, the endpoints of all Services count as known. */
  completeIfAny: () => void;
  unread: (namespace: string) => void;
  endpointsOf: (service: string) => ServiceEndpoints | Unknown;
}

export function collectServices(): ServiceCollector {
  const services = new Map<string, FoundEndpoints>();
  const complete = new Set<string>();
  const unread = new Set<string>();
  let isAny = false;
  let isComplete = false;

  return {
    add(this: void, object: Json): boolean {
      const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
      const service = spelled(at(object, 'metadata', 'labels', serviceNameLabel), isLabel);
      if (text(at(object, 'kind')) !== 'EndpointSlice' || namespace === undefined) return false;
      isAny = true;
      // A slice without this label belongs to no Service.
      if (service !== undefined) addSlice(endpointsAt(`${namespace}/${service}`), object);
      return true;
    },
    complete: (service: string): void => void complete.add(service),
    completeIfAny: (): void => void (isComplete = isAny),
    unread: (namespace: string): void => void unread.add(namespace),
    endpointsOf(this: void, service: string): ServiceEndpoints | Unknown {
      const [namespace = ''] = service.split('/', 1);
      if (unread.has(namespace))
        return new Unknown(`EndpointSlices of Namespace ${namespace}, which could not be listed`);
      const found = services.get(service);
      if (found === undefined && !isComplete && !complete.has(service))
        return new Unknown(`endpoints of Service ${service}`);
      if (found !== undefined && found.room < 0)
        return new Unknown(`endpoints of Service ${service}: it has more than are kept`);
      return found?.addresses ?? new Map();
    },
  };

  function endpointsAt(service: string): FoundEndpoints {
    const known = services.get(service) ?? { addresses: new Map(), room: mostOfService.ports };
    services.set(service, known);
    return known;
  }
}

/** Adds the endpoints of a slice. It leaves out domain names and ports without a number, as Calico does. */
function addSlice(found: FoundEndpoints, slice: Json): void {
  const ports = new Set(
    list(at(slice, 'ports')).flatMap((each) => {
      const port = at(each, 'port');
      return typeof port === 'number' ? [`${text(at(each, 'protocol')) ?? 'TCP'}/${port}`] : [];
    }),
  );
  for (const endpoint of list(at(slice, 'endpoints')))
    for (const given of list(at(endpoint, 'addresses'))) {
      if (found.room < 0) return;
      const address = canonicalAddress(text(given) ?? '');
      if (address !== '') addPorts(found, address, ports);
    }
}

function addPorts(found: FoundEndpoints, address: string, ports: ReadonlySet<string>): void {
  const { addresses } = found;
  const known = addresses.get(address) ?? new Set<string>();
  addresses.set(address, known);
  found.room -= Math.max(1, ports.size);
  const isRoom = found.room >= 0 && ports.size <= mostOfService.portsOfAddress;
  if (isRoom) for (const port of ports) known.add(port);
  if (isRoom && addresses.size <= mostOfService.addresses && known.size <= mostOfService.portsOfAddress) return;
  found.room = -1;
  addresses.clear();
}
