import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';
import type { Packet } from '../../src/base/model/packet.ts';

/** Text as the kernel prints it, together with what a reader must make of it. */
export interface Piece {
  text: string;
  packet: Partial<Packet>;
  inner?: Packet;
  mtu?: number;
  /** Whether the kernel stops printing here, so that neither UID= nor MARK= follows. */
  stops: boolean;
}

export const octet = fc.integer({ min: 0, max: 0xff });
export const port = fc.oneof(fc.constantFrom(0, 1, 53, 443, 8080, 65535), fc.integer({ min: 0, max: 0xffff }));
export const uint16 = fc.integer({ min: 0, max: 0xffff });
export const uint32 = fc.integer({ min: 0, max: 0xffff_ffff });
export const hexByte = (value: number): string => value.toString(16).toUpperCase().padStart(2, '0');

export const piece = (text: string, packet: Partial<Packet> = {}, stops = false): Piece => ({ text, packet, stops });

/** `INCOMPLETE [8 bytes] `: the packet had fewer bytes than a header. */
export const incomplete = (stops: boolean): Arbitrary<Piece> =>
  fc.nat({ max: 64 }).map((bytes) => piece(`INCOMPLETE [${bytes} bytes] `, { incomplete: true }, stops));

/** TCP or IP options. */
export const options: Arbitrary<string> = fc
  .uint8Array({ minLength: 4, maxLength: 40 })
  .map((bytes) => `OPT (${[...bytes].map(hexByte).join('')}) `);

export const emptyPacket: Packet = {
  source: '',
  destination: '',
  protocol: '',
  sourcePort: undefined,
  destinationPort: undefined,
  icmpType: undefined,
  icmpCode: undefined,
  tcpFlags: undefined,
  length: undefined,
  ttl: undefined,
  laterFragment: false,
  incomplete: false,
};
