import type { Observation } from '../../src/model/observation.ts';
import type { PacketObservation } from '../../src/model/packet.ts';

/** Only what a row is about; an array or object is compared in the parts that are given. */
type PartOf<Value> = Value extends object ? { [Key in keyof Value]?: PartOf<Value[Key]> } : Value;

export interface Row {
  id: string;
  /** The message, its envelope taken off. */
  text: string;
  /** `undefined`: not one of ours. Of several parts all hold. */
  expected: PartOf<Observation> | PartOf<Observation>[] | undefined;
}

type Expected = PartOf<PacketObservation>;
type Flow = Pick<PacketObservation['packet'], 'source' | 'destination' | 'protocol'>;

/** `10.0.0.1:5 > 10.0.0.2:80` without the ports where there are none. */
export function flow(protocol: string, source: string, destination: string, ...ports: [number, number] | []): Expected {
  const addresses: Flow = { source, destination, protocol };
  const [sourcePort, destinationPort] = ports;
  return { kind: 'packet', packet: { ...addresses, sourcePort, destinationPort } };
}

/** The text behind the prefix of a TCP SYN that is forwarded from one Pod to another, and its meaning. */
export const syn =
  'IN=cali0123456789a OUT=calic440f455693 MAC=ee:ee:ee:ee:ee:ee:02:00:00:00:00:01:08:00 SRC=10.65.1.4 DST=10.65.2.9 ' +
  'LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=52301 DF PROTO=TCP SPT=40112 DPT=8443 WINDOW=64240 RES=0x00 SYN URGP=0 ';
export const synFlow: Expected = flow('TCP', '10.65.1.4', '10.65.2.9', 40112, 8443);

/** The same packet behind another prefix. */
export const prefixed = (id: string, prefix: string, expected: Expected): Row => ({
  id,
  text: prefix + syn,
  expected: { ...synFlow, prefix: prefix.trim(), ...expected },
});
