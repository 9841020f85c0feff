import { LRUCache } from 'lru-cache';
import type { Enforcer, PolicyName, Verdict } from '../../../base/model/packet.ts';
import { copy } from '../../../base/platform/address.ts';
import { builtInPrefixes, calicoPolicy, type PrefixRule } from './prefix-rules.ts';

export interface PrefixMeaning {
  /** The prefix for people: trimmed, decoded, and without the logger's time stamps. */
  text: string;
  verdict: Verdict;
  rule: string;
  enforcer: Enforcer;
  policy: PolicyName | undefined;
}

export interface PrefixTable {
  /** `raw`: everything before `IN=`, with any white space. It may be UTF-8 that was decoded as latin1. */
  look: (raw: string) => PrefixMeaning;
}

/** The verdict that an operator gives to every prefix that begins with `prefix`. An empty `prefix` means lines without a prefix. */
export interface ConfiguredPrefix {
  readonly prefix: string;
  readonly verdict: Verdict;
}

export function createPrefixTable(configured: readonly ConfiguredPrefix[] = []): PrefixTable {
  const rules = [...configured.map(ruleOf), ...builtInPrefixes];
  // A node has only a few prefixes, unless the logger writes time stamps into them.
  const cache = new LRUCache<string, PrefixMeaning>({ max: 1024 });
  let last: { raw: string; meaning: PrefixMeaning } | undefined;
  return {
    look(raw) {
      if (last?.raw === raw) return last.meaning;
      const meaning = cache.get(raw) ?? read(rules, decodeBytes(raw).trim());
      if (raw.length <= longest) {
        last = { raw: copy(raw), meaning };
        cache.set(last.raw, meaning);
      }
      return meaning;
    },
  };
}

function ruleOf({ prefix: given, verdict }: ConfiguredPrefix): PrefixRule {
  const prefix = given.trim();
  const enforcer = prefix.startsWith('calico') ? 'network-policy' : 'unknown';
  // Every prefix begins with an empty text, so match only an empty one.
  const match = prefix === '' ? /^$/ : new RegExp(`^${RegExp.escape(prefix)}`);
  return { name: `configured "${prefix}"`, match, verdict, enforcer };
}

/** The longest prefix that is read. netfilter keeps 29 (iptables) or 127 (nftables) characters, after an unknown stamp. */
const longest = 256;

function read(rules: readonly PrefixRule[], whole: string): PrefixMeaning {
  const text = copy(whole.length > longest ? whole.slice(-longest) : whole);
  const none = { text, verdict: 'logged', enforcer: 'unknown', policy: undefined } as const;
  if (whole.length > longest) return { ...none, rule: 'too long for a prefix' };
  if (isKernelMessage(whole)) return { ...none, rule: 'kernel message' };
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

/** Matches kernel messages with a name that a tenant chooses, of a file or a command. A packet inside such a message is forged. */
const kernelMessage = new RegExp(
  [
    String.raw`\[\d{1,10}\](?:: | )(?:segfault|unhandled|general protection|traps? |bad frame|invalid opcode)[^\n]{0,200} in `,
    'segfault at ',
    'page allocation failure: | invoked oom-killer: ',
    "process '",
    String.raw`ptrace \w{1,20} of "`,
    'oom-kill:constraint=|[Mm]emory cgroup |Tasks? in /',
    String.raw`\b(?:audit|overlayfs|overlay|fuse|tmpfs|cgroup\d?|SELinux|CIFS|EXT4-fs|XFS|BTRFS|request_module)(?: \([^)]{0,64}\)| error[^:]{0,80})?: `,
    String.raw`\busb [\d.-]{1,16}: `,
    String.raw`\w: [A-Za-z][\w -]{1,80} ['"]`,
  ].join('|'),
);

export function isKernelMessage(prefix: string): boolean {
  return kernelMessage.test(prefix);
}

/** Decodes UTF-8 that was read as latin1. Other text stays as it is. */
export function decodeBytes(text: string): string {
  if (!/[\x80-\xff]/.test(text) || /[^\x00-\xff]/.test(text)) return text;
  try {
    return utf8.decode(Buffer.from(text, 'latin1'));
  } catch {
    return text;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
