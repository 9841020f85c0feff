/** Reads from the message of an Event which of several policies comes closest to allowing the packet: annotations name only one that denies alone. */

const name = '[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?';
const denied = new RegExp(
  String.raw`Denied by (?:([A-Z]\w{0,60}Polic)(?:y|ies)(\.projectcalico\.org)? )?((?:${name}/)?${name})(?![\w/])(.*)`,
);

/** Returns `NetworkPolicy shop/postgres, 1 more`; undefined if the message names no policy. A stranger may have written it. */
export function deniedBy(message: string): string | undefined {
  const [, kind, group = '', first = '', tail = ''] = denied.exec(message.slice(0, longestMessage)) ?? [];
  if (kind === undefined && !first.includes('/')) return undefined;
  const more = moreIn(tail);
  return `${kind ?? 'NetworkPolic'}y${group} ${first}${more > 0 ? `, ${more} more` : ''}`;
}

/** ` (tier x) (and 2 more): …`, or ` (no ingress rules), shop/b (no ingress rules) and 2 more. …`. */
function moreIn(tail: string): number {
  const counted = /^(?: \(tier [^()]*\))? \(and (\d{1,5}) more\)/.exec(tail)?.[1];
  if (counted !== undefined) return Number(counted);
  const [list = ''] = tail.replaceAll(/ \([^()]*\)/g, '').split(/:|\.(?: |$)/, 1);
  if (!/^(?:,| and \d)/.test(list)) return 0;
  return list.split(', ').length - 1 + Number(/ and (\d{1,5}) more$/.exec(list)?.[1] ?? 0);
}

const longestMessage = 1024;
