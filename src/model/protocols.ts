/** IANA's keywords (https://www.iana.org/assignments/protocol-numbers) of what LOG prints as a number, and of what it names. */
const keywords: Record<number, string> = {
  1: 'ICMP',
  2: 'IGMP',
  4: 'IPIP',
  6: 'TCP',
  17: 'UDP',
  33: 'DCCP',
  41: 'IPv6',
  46: 'RSVP',
  47: 'GRE',
  50: 'ESP',
  51: 'AH',
  58: 'ICMPv6',
  88: 'EIGRP',
  89: 'OSPF',
  103: 'PIM',
  108: 'IPComp',
  112: 'VRRP',
  115: 'L2TP',
  132: 'SCTP',
  136: 'UDPLITE',
};

/** `6` → `TCP`, `TCP` → `TCP`, `200` → `200`; undefined for what is neither a number up to 255 nor a keyword. */
export function protocolName(text: string): string | undefined {
  // By far the most common, and cheaper to compare than to look up.
  if (text === 'TCP' || text === 'UDP' || named.has(text)) return text;
  if (/^\d{1,10}$/.test(text)) {
    const number = Number(text);
    return number > 255 ? undefined : (keywords[number] ?? String(number));
  }
  return /^[A-Za-z][A-Za-z0-9-]{0,31}$/.test(text) ? text : undefined;
}

const named = new Set(['TCP', 'UDP', 'ICMP', 'ICMPv6', 'UDPLITE', 'AH', 'ESP', 'SCTP']);
