/** Of a rule; `isQuoted`: it stood in double quotes, which are not part of `text`. */
export interface Word {
  text: string;
  isQuoted: boolean;
}

/** Splits what iptables-save prints; what is quoted is one word, its escapes undone (libxtables, xtables_save_string). */
export function wordsOf(rule: string): Word[] {
  return [...rule.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) =>
    quoted === undefined
      ? { text: plain ?? '', isQuoted: false }
      : { text: quoted.replace(/\\(.)/g, '$1'), isQuoted: true },
  );
}

/** What nft prints after a prefix: another option of `log`, or another statement (nft(8), LOG STATEMENT and STATEMENTS). */
const next =
  'level|flags|group|snaplen|queue-threshold|accept|drop|reject|counter|limit|quota|last|jump|goto|return|continue|queue|log|' +
  'meta|ct|ip|ip6|tcp|udp|ether|set|add|update|delete|dup|fwd|snat|dnat|masquerade|redirect|tproxy|synproxy|notrack|flow|comment|#';

/** nft escapes nothing: a prefix that iptables has set may hold quotes, and ends where what follows it can stand. */
const nftWord = new RegExp(`(?<=\\bprefix )"(.{0,127}?)"(?= *$| (?:${next})(?: |$))|"([^"]*)"|(\\S+)`, 'g');

/** Splits a rule as nft prints it. */
export function nftWordsOf(rule: string): Word[] {
  return [...rule.matchAll(nftWord)].map(([, prefix, quoted = prefix, plain = '']) =>
    quoted === undefined ? { text: plain, isQuoted: false } : { text: quoted, isQuoted: true },
  );
}
