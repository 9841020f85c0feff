import { isPortName } from '../platform/api-names.ts';
import type { ServicePort } from './objects.ts';

/** Ports with a name that are kept of one Pod. */
const most = 16;

/** `,http=80/tcp,metrics=9090/tcp,`: one text, because with thousands of Pods a list of objects for each costs too much. */
export function packPorts(ports: readonly ServicePort[]): string | undefined {
  const parts = new Set(ports.map(({ name, port, protocol }) => `${name}=${port}/${protocol}`));
  return parts.size === 0 ? undefined : `,${[...parts].slice(0, most).join(',')},`;
}

/** Whether a text is what `packPorts` makes of the ports of a Pod. */
export function isPackedPorts(text: string): boolean {
  const [first, ...parts] = text.split(',', most + 3);
  const last = parts.pop();
  return first === '' && last === '' && parts.length > 0 && parts.length <= most && parts.every(isPackedPort);
}

function isPackedPort(part: string): boolean {
  const [, name = '', port] = /^([^=]*)=(\d{1,5})\/(?:tcp|udp|sctp)$/.exec(part) ?? [];
  return isPortName(name) && Number(port) >= 1 && Number(port) <= 65_535;
}

/** The name of a port, where one of the packed has that number and protocol (`tcp`): the first of several. */
export function packedName(packed: string, port: number, protocol: string): string | undefined {
  const at = packed.indexOf(`=${port}/${protocol},`);
  return at < 0 ? undefined : packed.slice(packed.lastIndexOf(',', at) + 1, at);
}
