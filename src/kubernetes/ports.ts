/** Ports as the API has them, of Services, EndpointSlices and containers. */
import { isLabel, isPortName } from '../platform/api-names.ts';
import { at, type Json, list, spelled, text } from '../platform/json.ts';
import { createInterner } from '../resolving/interner.ts';
import type { ServicePort } from '../resolving/objects.ts';
import { packPorts } from '../resolving/pod-ports.ts';

/** Ports of one object that are looked at: whoever may make a Pod or a Service may give it thousands. */
const most = { ofPod: 128, ofService: 512 };

/** `ports` of a Service or an EndpointSlice. */
export function slimPorts(value: Json): readonly ServicePort[] {
  const found = portsIn(list(value).slice(0, most.ofService), 'port', isLabel);
  return internPorts(JSON.stringify(found), found);
}

const internPorts = createInterner<readonly ServicePort[]>();

/** v1 Pod → the named ports of the containers that run as long as it does, packed. A saved list may have any text for a name. */
export function podPorts(pod: Json): string | undefined {
  const sidecars = list(at(pod, 'spec', 'initContainers')).filter((each) => at(each, 'restartPolicy') === 'Always');
  const containers = [...list(at(pod, 'spec', 'containers')), ...sidecars];
  const ports = containers.flatMap((each) => list(at(each, 'ports'))).slice(0, most.ofPod);
  return packPorts(portsIn(ports, 'containerPort', isPortName).filter(({ name }) => name !== ''));
}

function portsIn(ports: readonly Json[], number: string, isName: (text: string) => boolean): ServicePort[] {
  return ports.flatMap((each) => {
    const port = at(each, number);
    const protocol = (text(at(each, 'protocol')) ?? 'TCP').toLowerCase();
    if (typeof port !== 'number' || !isServiceProtocol(protocol)) return [];
    return [{ name: spelled(at(each, 'name'), isName) ?? '', port, protocol }];
  });
}

function isServiceProtocol(protocol: string): protocol is ServicePort['protocol'] {
  return protocol === 'tcp' || protocol === 'udp' || protocol === 'sctp';
}
