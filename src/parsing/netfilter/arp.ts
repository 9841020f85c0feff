import { canonicalAddress, isIPv6 } from '../../platform/address.ts';
import { type Header, newPacket } from './header.ts';

/** `ARP HTYPE=1 PTYPE=0x0800 OPCODE=1 MACSRC=… IPSRC=… MACDST=… IPDST=…` (arptables and bridges): no IP header, so no SRC=. */
export function readArp(header: Header, text: string, start: number): void {
  const tokens = text.slice(start).split(' ');
  const value = (key: string): string => tokens.find((token) => token.startsWith(key))?.slice(key.length) ?? '';
  const source = canonicalAddress(value('IPSRC='));
  const destination = canonicalAddress(value('IPDST='));
  header.problem.text = undefined;
  if (source === '' || destination === '')
    header.problem.text = `${source === '' ? 'IPSRC' : 'IPDST'}= is missing or not an address`;
  else if (isIPv6(source) !== isIPv6(destination)) header.problem.text = 'IPSRC= and IPDST= of two address families';
  const incomplete = tokens.some((token) => /^(?:INCOMPLETE|TRUNCATED|\(TRUNCATED\)|FRAG:TRUNCATED)$/.test(token));
  header.outer = { ...newPacket(), source, destination, protocol: 'ARP', incomplete };
  header.inner = undefined;
}
