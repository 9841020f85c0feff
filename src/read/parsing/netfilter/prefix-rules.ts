import type { Enforcer, PolicyName, Verdict } from '../../../base/model/packet.ts';

type Groups = Record<string, string | undefined>;

/** A row of the table. Rows are compared in order with the trimmed prefix, and the first match decides. */
export interface PrefixRule {
  name: string;
  match: RegExp;
  enforcer?: Enforcer;
  verdict: Verdict | ((groups: Groups) => Verdict);
  policy?: (groups: Groups) => PolicyName | undefined;
  /** Returns the text to show, if parts of the prefix vary from line to line. */
  text?: (groups: Groups) => string;
}

/** Words for a verdict with their usual endings. `droped` is a frequent misspelling. */
const words = {
  reject: 'reject(?:s|ed|ion)?|refus(?:al|es?|ed)',
  drop: 'drop(?:s|p?ed|p?ing)?|den(?:y|ial|ie[ds]|ying)|(?:block|discard|prohibit|disallow)(?:s|ed|ing)?|(?:block|deny|drop)list(?:ed)?',
  accept: '(?:accept|allow)(?:s|ed)?|permit(?:s|ted)?',
};
/** `no-drop`, `NODROP`, `unblocked` and `not in blocklist` mean the opposite of the word, or nothing. */
const notNegated = String.raw`(?<!(?<![a-z])(?:(?:no|not|non|never|un)[^a-z]?|not(?:[^a-z](?:in|on|a|the|to|be)){1,2}[^a-z]))`;
/** `blocklist-ok`, `drop=0` and `drop-not` cancel the word; `DROP NOT SYN` does not. */
const notTakenBack = String.raw`(?![^a-z0-9]ok(?![a-z0-9])|=(?:0|no|off|false)(?![a-z0-9])|[^a-z]not[^a-z]*$)`;
/** After one of these, the word is a part of another word: `raindrop`, but not `LOGDROP`. */
const notPartOfName = String.raw`(?<!(?<![a-z])(?:air|back|dew|ear|eaves|gum|name|rain|road|snow|sun))`;

/**
 * k3s truncates texts over 48 characters: one part of 24 or more characters to fill these, or both parts to 23. A text of this length may
 * be complete: a name that ends with `…` stands for all that begin with it.
 */
function cutByK3s(namespace: string, name: string): { namespace: string; name: string } {
  const isFull = namespace.length + 1 + name.length === 48;
  const areBoth = namespace.length === 23 && name.length === 23;
  return {
    namespace: areBoth || (isFull && namespace.length >= 24) ? `${namespace}…` : namespace,
    name: areBoth || (isFull && namespace.length < 24) ? `${name}…` : name,
  };
}

/**
 * The most specific first. A LOG rule only logs, so only the prefix shows that the packet was dropped. An unknown prefix means `logged`,
 * and makes no Event until an operator says what it means (`--prefix NAME=dropped`). A new row also needs a line in
 * test/corpus/lines-prefixes.log (CONTRIBUTING.md).
 */
export const builtInPrefixes: readonly PrefixRule[] = [
  // nft and iptables tracing: `TRACE: filter:cali-fw-cali1:rule:5`.
  { name: 'trace', match: /^TRACE\b/, verdict: 'logged' },
  { name: 'audit', match: /\bAUDIT\b/i, verdict: 'logged' },
  // Calico's `action: Log` is a separate rule, and does not show what later rules do.
  { name: 'calico log action', match: /^calico-packet\b/, verdict: 'logged' },
  { name: 'calico drop', match: /^calico-drop\b/, verdict: 'dropped', enforcer: 'network-policy' },
  // k3s's kube-router, by NFLOG: `DROP by policy ns/name`.
  {
    name: 'kube-router',
    match: /^"?DROP by policy (?<namespace>[a-z0-9-]+)\/(?<name>[a-z0-9.-]+)/,
    verdict: 'dropped',
    enforcer: 'network-policy',
    policy: ({ namespace = '', name = '' }) => ({
      kind: 'NetworkPolicy',
      ...cutByK3s(namespace, name),
      tier: undefined,
    }),
  },
  // VyOS ends its prefix with the action: `[ipv4-FWD-filter-10-D]`, `[bri-FWD-filter-default-D]`.
  {
    name: 'vyos',
    enforcer: 'host-firewall',
    match: /\[(?<chain>[A-Za-z0-9_-]+)-(?<rule>\d+|default)-(?<action>[ADRC])\]/,
    verdict: ({ action }) =>
      ({ A: 'accepted', D: 'dropped', R: 'rejected' } as Record<string, Verdict>)[action ?? ''] ?? 'logged',
    policy: ({ chain, rule }) => named('VyOS rule', `${chain} ${rule}`),
  },
  // UniFi has the action before the rule's number, and then the rule's name, which may contain any word.
  {
    name: 'unifi',
    enforcer: 'host-firewall',
    match: /^\[[A-Za-z0-9_]{1,64}-(?<action>[ADR]|RET)-\d{1,10}\] DESCR="/,
    verdict: ({ action }) =>
      ({ A: 'accepted', D: 'dropped', R: 'rejected' } as Record<string, Verdict>)[action ?? ''] ?? 'logged',
  },
  // firewalld: `filter_FWD_public_REJECT: `, `filter_IN_internal_DROP: `, in older releases `FWDI_public_REJECT: `. The name of a zone may
  // contain an underscore, so without `filter_` other programs' chains would look like zones.
  {
    name: 'firewalld policy',
    enforcer: 'host-firewall',
    match:
      /(?<![A-Za-z])(?:filter_)?(?:IN|FWD|OUT)_policy_(?<policy>[\w-]{1,64}?)_(?<action>REJECT|DROP|ACCEPT)(?![A-Za-z])/,
    verdict: byWord,
    policy: ({ policy = '' }) => named('firewalld policy', policy),
  },
  {
    name: 'firewalld zone',
    enforcer: 'host-firewall',
    match:
      /(?<![A-Za-z])(?:filter_(?:IN|FWD|OUT)_(?<filtered>[\w-]{1,64}?)|(?:IN|FWD|FWDI|FWDO|OUT)_(?<zone>[A-Za-z0-9-]{1,64}?))_(?:rule_\d+_)?(?<action>REJECT|DROP|ACCEPT)(?![A-Za-z])/,
    verdict: byWord,
    policy: ({ filtered, zone = '' }) => named('firewalld zone', filtered ?? zone),
  },
  {
    name: 'firewalld',
    enforcer: 'host-firewall',
    match: /(?:FINAL|STATE_INVALID|rpfilter|RFC3964_IPv4)_(?<action>REJECT|DROP)(?![A-Za-z])/,
    verdict: byWord,
  },
  // `ufw limit` rejects packets.
  { name: 'ufw limit', enforcer: 'host-firewall', match: /^\[UFW LIMIT BLOCK\]/, verdict: 'rejected' },
  // ufw-docker writes `[UFW DOCKER BLOCK]`.
  { name: 'ufw', enforcer: 'host-firewall', match: /^\[UFW (?:DOCKER )?BLOCK\]/, verdict: 'dropped' },
  // Shorewall, `Shorewall:net2fw:DROP:`.
  {
    name: 'shorewall',
    enforcer: 'host-firewall',
    match: /^Shorewall6?:(?<chain>[^:]+):(?<action>DROP|REJECT|ACCEPT|LOG)/,
    verdict: byWord,
    policy: ({ chain = '' }) => named('Shorewall chain', chain),
  },
  // FireHOL drops packets that match no interface or router of its file: `'PASS-unknown:'`, in 1.x without quotes.
  { name: 'firehol', enforcer: 'host-firewall', match: /^'?(?:IN|OUT|PASS)-unknown:/, verdict: 'dropped' },
  // Proxmox VE writes the time into the prefix: `0 6 PVEFW-HOST-IN 21/Nov/2026:03:42:11 +0000 policy DROP:`.
  {
    name: 'proxmox',
    enforcer: 'host-firewall',
    match: /^\d+ \d (?<chain>\S+) \S+:\d\d:\d\d:\d\d [+-]\d{4} (?<rest>.*?(?<action>DROP|REJECT|ACCEPT)):?$/,
    verdict: byWord,
    policy: ({ chain = '' }) => named('Proxmox chain', chain),
    text: ({ chain, rest }) => `${chain} ${rest}`,
  },
  // For other prefixes, the harsher word decides (`not-allowed-drop`), and a whole word goes before a part of one (`DropBox-allow`).
  { name: 'word for reject', match: wholeWord(words.reject), verdict: 'rejected' },
  { name: 'word for drop', match: wholeWord(`${words.drop}|bans?|banned`), verdict: 'dropped' },
  { name: 'word for accept', match: wholeWord(`${words.accept}|pass|passe[ds]`), verdict: 'accepted' },
  { name: 'word for reject', match: partOfWord(words.reject), verdict: 'rejected' },
  { name: 'word for drop', match: partOfWord(words.drop), verdict: 'dropped' },
  { name: 'word for accept', match: partOfWord(words.accept), verdict: 'accepted' },
];

/** Matches `drop` in `fw_drop2` and `[DROP]`, but not in `dropbox`. A digit before it belongs to a name: `fail2ban`. */
function wholeWord(alternatives: string): RegExp {
  return new RegExp(`(?<![a-z0-9])${notNegated}(?:${alternatives})(?![a-z])${notTakenBack}`, 'i');
}

/** Matches the end of a word, or a part in camel case: `LOGDROP`, `DropInvalid`. */
function partOfWord(alternatives: string): RegExp {
  return new RegExp(
    `(?i:${notNegated}${notPartOfName}(?:${alternatives})${notTakenBack})(?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z])|(?=[A-Z][a-z]))`,
  );
}

function byWord({ action }: Groups): Verdict {
  if (action === 'DROP') return 'dropped';
  if (action === 'REJECT') return 'rejected';
  return action === 'ACCEPT' ? 'accepted' : 'logged';
}

function named(kind: string, name: string): PolicyName {
  return { kind, namespace: undefined, name, tier: undefined };
}

/** Felix's short kinds, which it writes for `%k` (felix/types). */
const calicoKinds: Record<string, string> = {
  np: 'NetworkPolicy.projectcalico.org',
  gnp: 'GlobalNetworkPolicy',
  knp: 'NetworkPolicy',
  kcnp: 'ClusterNetworkPolicy',
  snp: 'StagedNetworkPolicy',
  sgnp: 'StagedGlobalNetworkPolicy',
  sknp: 'StagedKubernetesNetworkPolicy',
};

/** Reads a `logPrefix` with `%k %p`: `calico-drop np prod/deny:`. iptables keeps 29 characters, so a name that was cut off gets a mark. */
export function calicoPolicy(prefix: string): PolicyName | undefined {
  const found =
    /(?:(?<!\S)\S+ (?<tier>[a-z0-9-]+) |^|[\s,;|])(?<kind>s?np|s?gnp|s?knp|kcnp)[\s:=](?:(?<namespace>[a-z0-9-]+)\/)?(?<name>[a-z0-9.-]+)/.exec(
      prefix,
    );
  if (!found) return undefined;
  const { tier, kind = '', namespace, name = '' } = found.groups ?? {};
  // Felix ends its prefix with a colon. If the name is at the end instead, iptables (29) or nftables (127) has cut it.
  const cut = (prefix.length >= 28 && prefix.length <= 29) || prefix.length >= 126;
  const isLast = found.index + found[0].length === prefix.length;
  return { kind: calicoKinds[kind], namespace, name: cut && isLast ? `${name}…` : name, tier };
}
