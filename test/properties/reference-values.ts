const tables: { keywords: Record<number, string> } = {
  // IANA keywords of protocols that the kernel prints as numbers.
  keywords: {
    '1': 'ICMP',
    '2': 'IGMP',
    '4': 'IPIP',
    '6': 'TCP',
    '17': 'UDP',
    '41': 'IPv6',
    '47': 'GRE',
    '50': 'ESP',
    '51': 'AH',
    '58': 'ICMPv6',
    '89': 'OSPF',
    '103': 'PIM',
    '112': 'VRRP',
    '132': 'SCTP',
    '136': 'UDPLITE',
  },
};
/** IANA keywords of protocols that the kernel prints as numbers. */
const keywords: Record<number, string> = tables.keywords;

export function isInteger(text: string): boolean {
  return /^[0-9]+$/.test(text);
}

/** The number, if the text has only decimal digits and the number is at most the maximum. */
export function upTo(maximum: number, text: string | undefined): number | undefined {
  if (text === undefined || !isInteger(text)) return undefined;
  return Number(text) <= maximum ? Number(text) : undefined;
}

/** Empty if the line ends before `PROTO=`; undefined if the value is not a protocol. */
export function protocolName(text: string | undefined): string | undefined {
  if (text === undefined) return '';
  if (/^[A-Za-z][A-Za-z0-9-]*$/.test(text)) return text;
  const number = upTo(255, text);
  return number === undefined ? undefined : (keywords[number] ?? String(number));
}
