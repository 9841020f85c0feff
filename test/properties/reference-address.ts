import { isIPv4, isIPv6 } from 'node:net';

export type Family = 4 | 6;

export function familyOf(text: string | undefined): Family | undefined {
  if (text === undefined) return undefined;
  if (isIPv4(text)) return 4;
  return isIPv6(text) && !text.includes('%') ? 6 : undefined;
}

/**
 * The text of RFC 5952. The URL parser writes it, except for the mixed notation that section 5 requires for IPv4-mapped
 * addresses.
 */
export function canonicalAddress(text: string): string {
  if (isIPv4(text)) return text;
  const compressed = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(compressed);
  if (mapped === null) return compressed;
  const [high, low] = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16));
  return `::ffff:${[high, low].flatMap((group = 0) => [group >> 8, group & 0xff]).join('.')}`;
}
