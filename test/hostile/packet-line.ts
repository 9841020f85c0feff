export interface PacketFields {
  readonly source: string;
  readonly destination: string;
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP' | 'ICMP';
  readonly in?: string;
  readonly out?: string;
  readonly prefix?: string;
  /** By default now. */
  readonly time?: Date;
  /** The text at the end of the line. */
  readonly more?: string;
}

/** A line about a packet that a rule of Calico dropped, as rsyslog writes it. */
export function packetLine(fields: PacketFields): string {
  const {
    source,
    destination,
    port,
    protocol = 'TCP',
    in: from = 'eth0',
    out = 'eth1',
    prefix = 'calico-drop: ',
    time = new Date(),
  } = fields;
  const { more = protocol === 'TCP' ? 'WINDOW=64240 RES=0x00 SYN URGP=0' : 'LEN=40' } = fields;
  const version = source.includes(':')
    ? 'LEN=60 TC=0 HOPLIMIT=63 FLOWLBL=0'
    : 'LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=4711 DF';
  return `${time.toISOString()} hostile-node kernel: ${prefix}IN=${from} OUT=${out} MAC= SRC=${source} DST=${destination} ${version} PROTO=${protocol} ${protocol === 'ICMP' ? '' : `SPT=40112 DPT=${port} `}${more}\n`;
}
