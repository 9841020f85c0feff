/** Endpoints of Services, as rules with `services` match them (felix/serviceindex/serviceindex.go). */
import { canonicalAddress } from '../../platform/address.ts';
import { isLabel } from '../../platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../../platform/json.ts';

/** The served ports, each as `TCP/5432`, keyed by address (canonical text, platform/address.ts). */
export type ServiceEndpoints = ReadonlyMap<string, ReadonlySet<string>>;

/** Endpoints of Services by `NAMESPACE/NAME`; a text says why they are not known. */
export type EndpointsOf = (service: string) => ServiceEndpoints | string;

/** Endpoints of one Service at most: a policy names a Service, and who owns that decides how many it has. */
export const maxEndpoints = 5000;

/** The label by which an EndpointSlice names its Service. */
export const serviceNameLabel = 'kubernetes.io/service-name';

export interface ServiceCollector {
  /** An EndpointSlice; false for what is none. Endpoints that are not ready count, as Calico has it. */
  readonly add: (object: Json) => boolean;
  /** All EndpointSlices of the Service are there. */
  readonly complete: (service: string) => void;
  /** No more come. Where there is any EndpointSlice, those of all Services are there. */
  readonly completeIfAny: () => void;
  /** EndpointSlices of the Namespace may not be read. */
  readonly unread: (namespace: string) => void;
  readonly endpointsOf: EndpointsOf;
}

export function collectServices(): ServiceCollector {
  const services = new Map<string, Map<string, Set<string>>>();
  const complete = new Set<string>();
  const unread = new Set<string>();
  let isAny = false;
  let isComplete = false;

  return {
    add(object) {
      const namespace = spelled(at(object, 'metadata', 'namespace') ?? 'default', isLabel);
      const service = spelled(at(object, 'metadata', 'labels', serviceNameLabel), isLabel);
      if (text(at(object, 'kind')) !== 'EndpointSlice' || namespace === undefined) return false;
      isAny = true;
      // A slice without that label is of no Service.
      if (service !== undefined) addSlice(endpointsAt(`${namespace}/${service}`), object);
      return true;
    },
    complete: (service) => void complete.add(service),
    completeIfAny: () => void (isComplete = isAny),
    unread: (namespace) => void unread.add(namespace),
    endpointsOf(service) {
      const [namespace = ''] = service.split('/', 1);
      if (unread.has(namespace)) return `EndpointSlices of Namespace ${namespace}, which could not be listed`;
      const found = services.get(service);
      if (found === undefined && !isComplete && !complete.has(service)) return `endpoints of Service ${service}`;
      if (found !== undefined && found.size > maxEndpoints)
        return `endpoints of Service ${service}: it has more than ${maxEndpoints}`;
      return found ?? new Map();
    },
  };

  function endpointsAt(service: string): Map<string, Set<string>> {
    const known = services.get(service) ?? new Map<string, Set<string>>();
    services.set(service, known);
    return known;
  }
}

/** An address that is none (a domain name) is left out, and so is a port without a number, as Calico does it. */
function addSlice(endpoints: Map<string, Set<string>>, slice: Json): void {
  const ports = list(at(slice, 'ports')).flatMap((each) => {
    const port = at(each, 'port');
    return typeof port === 'number' ? [`${text(at(each, 'protocol')) ?? 'TCP'}/${port}`] : [];
  });
  for (const endpoint of list(at(slice, 'endpoints')))
    for (const given of list(at(endpoint, 'addresses'))) {
      if (endpoints.size > maxEndpoints) return;
      const address = canonicalAddress(text(given) ?? '');
      if (address === '') continue;
      const known = endpoints.get(address) ?? new Set<string>();
      endpoints.set(address, known);
      for (const port of ports) known.add(port);
    }
}
