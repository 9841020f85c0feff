import { hash } from 'node:crypto';
import { canonicalAddress, hostAndPort } from '../../../base/platform/address.ts';
import type { ServiceProtocol } from '../objects.ts';

/** A hash that cannot be reversed, or in nftables mode the Service and its port (kube-proxy's pkg/proxy/{iptables,nftables,ipvs}). */
export type ChainName = { kind: 'service-hash'; hash: string } | { kind: 'endpoint-hash'; hash: string } | ChainPort;

export interface ChainPort {
  kind: 'service-port';
  namespace: string;
  service: string;
  /** The name of the port; '' without one. */
  port: string;
  protocol: ServiceProtocol;
  /** Such as `10.244.1.30:5432`; undefined if the chain has none, or its name was cut off. */
  endpoint: string | undefined;
}

/** Returns undefined for chains that do not belong to a single Service. */
export function parseChainName(chain: string): ChainName | undefined {
  if (chain.length > longestName) return undefined;
  const [, kind, hashed] = /^KUBE-(SVC|SVL|FW|EXT|XLB|SEP)-([A-Z2-7]{16})$/.exec(chain) ?? [];
  if (hashed !== undefined) return { kind: kind === 'SEP' ? 'endpoint-hash' : 'service-hash', hash: hashed };
  return parseSpeakingName(chain);
}

/** Reads `service-2QRHZV4L-default/kubernetes/tcp/https`, `endpoint-5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80`. */
function parseSpeakingName(chain: string): ChainName | undefined {
  const [, prefix = '', base, hashed, whole = ''] = speakingName.exec(chain) ?? [];
  if (base === undefined) return undefined;
  const isCut = base.length === longestBase && whole.endsWith(ellipsis);
  if (!isCut && chainHash(whole).slice(0, 8) !== hashed) return undefined;
  const [, namespace, service, protocol, port = '', rest] =
    servicePort.exec(isCut ? whole.slice(0, -ellipsis.length) : whole) ?? [];
  if (namespace === undefined || service === undefined) return undefined;
  const isEndpoint = prefix === 'endpoint' || prefix === 'affinity';
  // An endpoint's name without its address was cut off in the port's name, so the port is not known.
  if (isEndpoint !== (rest !== undefined)) return undefined;
  const endpoint = isCut || rest === undefined ? undefined : endpointOf(rest);
  if (isEndpoint && !isCut && endpoint === undefined) return undefined;
  return { kind: 'service-port', namespace, service, port, protocol: protocol as ServiceProtocol, endpoint };
}

const speakingName = /^(service|local|external|firewall|endpoint|affinity)-(([A-Z2-7]{8})-(.+))$/;
const servicePort = /^([a-z0-9.-]+)\/([a-z0-9.-]+)\/(tcp|udp|sctp)\/([a-z0-9-]*)(?:__([0-9a-f./]*))?$/;
const ellipsis = '...';
/** kube-proxy cuts longer names to this length, not counting the word before the hash. */
const longestBase = 240;
const longestName = 256;

/** Reads `10.180.0.1/80`, `fd80.abcd..9999/80`: IPv6 addresses have dots, because a chain's name must not have colons. */
function endpointOf(text: string): string | undefined {
  const [, dotted, port] = /^([0-9a-f.]+)\/(\d{1,5})$/.exec(text) ?? [];
  if (dotted === undefined || port === undefined) return undefined;
  const address = canonicalAddress(dotted) || canonicalAddress(dotted.replaceAll('.', ':'));
  return address === '' ? undefined : hostAndPort(address, Number(port));
}

/** kube-proxy hashes `kube-system/kube-dns:dnsudp`, or more for an endpoint. Old releases wrote the colon even without a port's name. */
export function hashedTexts(namespace: string, service: string, port: string, protocol: ServiceProtocol): string[] {
  const name = `${namespace}/${service}`;
  return port === '' ? [`${name}${protocol}`, `${name}:${protocol}`] : [`${name}:${port}${protocol}`];
}

/** Hashes a chain's name as kube-proxy does: the first 80 bits of the SHA-256 in base32 (RFC 4648, section 6). */
export function chainHash(text: string): string {
  // A binary text takes half the time of a Buffer, and there may be 300,000 endpoints.
  const digest = hash('sha256', text, 'binary');
  let characters = '';
  let value = 0;
  for (let at = 0, bits = 0; at < 10; at++) {
    value = ((value & 31) << 8) | digest.charCodeAt(at);
    for (bits += 8; bits >= 5; bits -= 5) characters += base32.charAt((value >> (bits - 5)) & 31);
  }
  return characters;
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
