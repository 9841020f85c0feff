import { LRUCache } from 'lru-cache';
import type { Enforcer, PolicyName, Verdict } from '../model.ts';
import { copy } from '../address.ts';
import { builtInPrefixes, calicoPolicy, type PrefixRule } from './prefix-rules.ts';

/** What a LOG prefix tells. */
export interface PrefixMeaning {
  /** The prefix for people: trimmed, decoded, without time stamps of the logger's own. */
  text: string;
  verdict: Verdict;
  /** Name of the row that decided. */
  rule: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
}

export interface PrefixTable {
  /** `raw` is all that stands before `IN=`, with any white space; may be latin1-decoded UTF-8. */
  look: (raw: string) => PrefixMeaning;
}

/** What the operator says of every prefix that begins with `prefix`. */
export interface ConfiguredPrefix {
  readonly prefix: string;
  readonly verdict: Verdict;
}

/** `configured` comes before what is known of itself. */
export function createPrefixTable(configured: readonly ConfiguredPrefix[] = []): PrefixTable {
  const rules = [...configured.map(ruleOf), ...builtInPrefixes];
  // A node has a handful of prefixes, unless the logger writes time stamps into them.
  const cache = new LRUCache<string, PrefixMeaning>({ max: 1024 });
  let last: { raw: string; meaning: PrefixMeaning } | undefined;
  return {
    look(raw) {
      if (last?.raw === raw) return last.meaning;
      const meaning = cache.get(raw) ?? read(rules, decodeBytes(raw).trim());
      if (raw.length <= 256) {
        last = { raw: copy(raw), meaning };
        cache.set(last.raw, meaning);
      }
      return meaning;
    },
  };
}

function ruleOf({ prefix: given, verdict }: ConfiguredPrefix): PrefixRule {
  // What is logged is trimmed, too.
  const prefix = given.trim();
  const enforcer = prefix.startsWith('calico') ? 'network-policy' : 'unknown';
  return { name: `configured "${prefix}"`, match: new RegExp(`^${RegExp.escape(prefix)}`), verdict, enforcer };
}

function read(rules: readonly PrefixRule[], whole: string): PrefixMeaning {
  // netfilter keeps 29 (iptables) or 127 (nftables) characters; more is not a prefix, and only its end is worth a look.
  const text = copy(whole.length > 256 ? whole.slice(-256) : whole);
  const none = { text, verdict: 'logged', enforcer: 'unknown', policy: undefined } as const;
  if (kernelMessage.test(whole)) return { ...none, rule: 'kernel message' };
  for (const rule of rules) {
    const found = rule.match.exec(text);
    if (!found) continue;
    const groups = found.groups ?? {};
    return {
      text: rule.text?.(groups) ?? text,
      verdict: typeof rule.verdict === 'function' ? rule.verdict(groups) : rule.verdict,
      rule: rule.name,
      enforcer: rule.enforcer ?? 'unknown',
      policy: rule.policy?.(groups) ?? calicoPolicy(text),
    };
  }
  return { ...none, rule: text === '' ? 'no prefix' : 'no rule' };
}

/**
 * A message of the kernel itself that ends with a name which a tenant chooses: the file of a process that crashed
 * (`a.out[123]: segfault at 0 ip … in NAME[…]`, `traps: …`), of one with an executable stack, or what a mount in a user
 * namespace was given (`overlayfs: failed to resolve 'NAME'`). A packet that is written into such a name is forged.
 */
const kernelMessage = /\[\d{1,10}\](?::| )[^\n]{1,200} in |segfault at |^process '|\w: [A-Za-z][\w -]{1,80} ['"]/;

/** Latin1-decoded UTF-8 → Unicode. Text that is Unicode already, or no UTF-8, comes back as it is. */
export function decodeBytes(text: string): string {
  if (!/[\x80-\xff]/.test(text) || /[^\x00-\xff]/.test(text)) return text;
  try {
    return utf8.decode(Buffer.from(text, 'latin1'));
  } catch {
    return text;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
