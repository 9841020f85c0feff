import type { Unparsable } from '../../../base/model/observation.ts';
import { type Packet, type PacketObservation, protocolName } from '../../../base/model/packet.ts';
import { canonicalAddress } from '../../../base/platform/address.ts';
import { isLabel, isSubdomain } from '../../../base/platform/api-names.ts';
import { newPacket } from '../netfilter/header.ts';

type Field = string | number | undefined;

type OfKernel = 'kind' | 'physIn' | 'physOut' | 'destinationMac' | 'packet' | 'inner';
type CheckedField = 'sourcePort' | 'destinationPort' | 'icmpType' | 'icmpCode' | 'length' | 'ttl' | 'mark' | 'uid';

/** A packet as loggers other than the kernel write it: fields by name, still as texts. */
export interface PacketRecord
  extends
    Pick<PacketObservation, 'logger' | 'verdict'>,
    Partial<Omit<PacketObservation, OfKernel | 'logger' | 'verdict' | 'mark' | 'uid'>>,
    Partial<Record<CheckedField, Field>> {
  /** The logger names the ends instead of giving addresses. `source` and `destination` are names that were checked. */
  isNamed?: boolean;
  source: Field;
  destination: Field;
  protocol: Field;
  tcpFlags?: number | undefined;
  laterFragment?: boolean;
}

/** Returns `unparsable` for an invalid address or protocol. Invalid numbers become undefined. */
export function observePacket(record: PacketRecord): PacketObservation | Unparsable {
  const endOf = (text: string): string => (record.isNamed === true ? text : canonicalAddress(text));
  const source = endOf(String(record.source ?? ''));
  const destination = endOf(String(record.destination ?? ''));
  const refuse = (reason: string): Unparsable => unparsable(record.logger, reason);
  if (source === '') return refuse(`the source ${shown(record.source)} is not an address`);
  if (destination === '') return refuse(`the destination ${shown(record.destination)} is not an address`);
  const protocol = protocolName(canonicalCase(String(record.protocol ?? '')));
  if (protocol === undefined && record.protocol !== undefined)
    return refuse(`${shown(record.protocol)} is not a protocol`);
  const packet: Packet = {
    ...newPacket(),
    source,
    destination,
    protocol: protocol ?? '',
    sourcePort: number(record.sourcePort, 65_535),
    destinationPort: number(record.destinationPort, 65_535),
    icmpType: number(record.icmpType, 255),
    icmpCode: number(record.icmpCode, 255),
    tcpFlags: record.tcpFlags,
    length: number(record.length, 4_294_967_295),
    ttl: number(record.ttl, 255),
    laterFragment: record.laterFragment ?? false,
    incomplete: protocol === undefined,
  };
  // Some loggers print port 0 for ICMP, which has no ports.
  if (packet.protocol.startsWith('ICMP')) packet.sourcePort = packet.destinationPort = undefined;
  return {
    kind: 'packet',
    logger: record.logger,
    verdict: record.verdict,
    prefix: record.prefix ?? '',
    prefixRule: record.prefixRule ?? record.logger,
    enforcer: record.enforcer ?? 'network-policy',
    policy: record.policy,
    policySide: record.policySide,
    clusterTier: record.clusterTier,
    byNetworkPolicies: record.byNetworkPolicies,
    sourceName: record.sourceName,
    destinationName: record.destinationName,
    destinationHost: record.destinationHost,
    dropReason: record.dropReason,
    notice: record.notice,
    inInterface: record.inInterface ?? '',
    outInterface: record.outInterface ?? '',
    physIn: undefined,
    physOut: undefined,
    destinationMac: undefined,
    packet,
    inner: undefined,
    mtu: record.mtu,
    mark: number(record.mark, 4_294_967_295),
    uid: number(record.uid, 4_294_967_295),
    repeat: record.repeat ?? 1,
  };
}

export function unparsable(format: string, reason: string): Unparsable {
  return { kind: 'unparsable', format, reason };
}

export function sideOf(direction: unknown): PacketObservation['policySide'] {
  switch (String(direction).toLowerCase()) {
    case 'ingress':
      return 'receiver';
    case 'egress':
      return 'sender';
    default:
      return undefined;
  }
}

export function fieldOf(value: unknown): Field {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

export function loggedPodName(namespace: unknown, name: unknown): string | undefined {
  const isPod = typeof namespace === 'string' && typeof name === 'string' && isLabel(namespace) && isSubdomain(name);
  return isPod ? `${namespace}/${name}` : undefined;
}

export function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= 4_294_967_295;
}

function number(value: Field, max: number): number | undefined {
  if (value === undefined || value === '' || (typeof value === 'string' && !/^\d{1,10}$/.test(value))) return undefined;
  const parsed = Number(value);
  return Number.isInteger(parsed) && parsed >= 0 && parsed <= max ? parsed : undefined;
}

/** Spells `tcp`, `icmp6` and similar names as the kernel does. */
function canonicalCase(protocol: string): string {
  const upper = protocol.toUpperCase();
  return upper === 'ICMP6' || upper === 'ICMPV6' || upper === 'IPV6-ICMP' ? 'ICMPv6' : upper;
}

function shown(value: Field): string {
  return value === undefined ? '(missing)' : String(value).slice(0, 60);
}
