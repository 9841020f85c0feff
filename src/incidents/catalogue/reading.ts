import type { ProgramRecord } from '../../model/program-record.ts';
import type { Match } from './cause.ts';
import { lineAt } from './record-text.ts';

/** The first of the expressions that is found in the text: its first group is the subject, its line the quote. */
export function find(text: string | undefined, expressions: readonly RegExp[]): Match | undefined {
  if (text === undefined) return undefined;
  for (const expression of expressions) {
    const found = expression.exec(text);
    if (found !== null) return { subject: found[1], quote: lineAt(text, found.index) };
  }
  return undefined;
}

/** `IPv4`, `IPv6`, or '' where nothing tells: the field, else the tool's name in its own error message. */
export function familyOf(record: ProgramRecord, text: string): string {
  const field = record.fields['ipFamily'] ?? record.fields['ipVersion'] ?? record.fields['family'] ?? '';
  if (/^(?:IPv6|0x6|6|inet6|ip6)$/i.test(field)) return 'IPv6';
  if (/^(?:IPv4|0x4|4|inet|ip)$/i.test(field)) return 'IPv4';
  if (
    /\bip6tables(?:-legacy|-nft)?(?:-restore|-save)? v\d|\b(?:add|delete) \w+ ip6 |^BIRD6 |BIRDv6|\bIPv6 support\b/m.test(
      text,
    )
  )
    return 'IPv6';
  if (/\biptables(?:-legacy|-nft)?(?:-restore|-save)? v\d|\b(?:add|delete) \w+ ip |BIRDv4/m.test(text)) return 'IPv4';
  return '';
}

/** Which kernel interface iptables used, by the version it prints or by the name it was called by. */
export function backendOf(text: string): 'legacy' | 'nf_tables' | undefined {
  const version = /\bip6?tables[\w-]{0,16} v[\d.]{1,12} \((legacy|nf_tables)\)/.exec(text);
  if (version !== null) return version[1] === 'legacy' ? 'legacy' : 'nf_tables';
  const command = /\b(?:xtables-|ip6?tables-)(legacy|nft)\b/.exec(text);
  if (command === null) return undefined;
  return command[1] === 'legacy' ? 'legacy' : 'nf_tables';
}
