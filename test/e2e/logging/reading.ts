import type { PacketObservation } from '../../../src/model/packet.ts';
import { parse } from '../../../src/parsing/formats.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';

const prefixes = createPrefixTable();

/** Parses the line as the agent does; throws when it is no packet. */
export function readPacket(line: string): PacketObservation {
  const observation = parse(line, prefixes);
  if (observation?.kind !== 'packet') throw new Error(`not read as a packet: ${line}`);
  return observation;
}
