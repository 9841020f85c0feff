import type { CauseRow } from './cause.ts';
import { iptablesFailure, iptablesNeedles } from './failures.ts';
import { quoteOf } from './record-text.ts';
import { agreeing, failingPodArguments, onlyFamily, shellWords, subjects, syncEvery, unreachable } from './texts.ts';

/** The most specific lines, where no other cause is known. */
const specific =
  /Permission denied \(you must be root\)|Operation not permitted|(?:RULE|CHAIN)_\w{1,30} failed|is incompatible, use 'nft' tool|No chain\/target\/match by that name|invalid option|unknown option|unrecognized option|line \d+ failed|input error on line \d+/;

export const jumpMissing: CauseRow = {
  code: 'KN108',
  name: 'jump-missing',
  title: 'No rule leads to the chains of kube-proxy',
  reason: 'ServiceJumpMissing',
  overReason: 'ServiceJumpRestored',
  retryInterval: syncEvery,
  endsWithSync: true,
  programs: ['kube-proxy'],
  needles: iptablesNeedles,
  match(record) {
    if (!record.message.startsWith('Failed to ensure ')) return undefined;
    const text = iptablesFailure(record);
    if (text === undefined) return undefined;
    const { fields } = record;
    // Before structured logging: `… that nat chain PREROUTING jumps to KUBE-SERVICES: …`.
    const old = /^Failed to ensure that \w+ chain (KUBE-[A-Z-]{1,25}|\w+ jumps to (KUBE-[A-Z-]{1,25}))/.exec(text);
    return {
      subject: fields['dstChain'] ?? fields['chain'] ?? old?.[2] ?? old?.[1],
      quote: quoteOf(text, specific),
    };
  },
  what: (details, node) =>
    `No Service works on ${node}${onlyFamily(details)}: kube-proxy cannot make the rule that leads packets to ${subjects(details) || 'its chains'}.`,
  why: (details) =>
    /Permission denied|not permitted/.test(details.quote)
      ? 'kube-proxy is not allowed to: its container is not privileged.'
      : 'iptables refuses that rule; as long as it does, kube-proxy does not try the others.',
  fix: (details) =>
    /Permission denied|not permitted/.test(details.quote)
      ? 'Give its container securityContext.privileged: true and hostNetwork: true.'
      : 'On the node: iptables -t nat -S PREROUTING; iptables -t nat -S OUTPUT; iptables -V in the Pod and on the host. Look for a second backend, a full disk, or a firewall that locks its tables; then restart kube-proxy.',
  impact: () => 'Services may not be reachable from this node at all.',
};

export const restoreRefused: CauseRow = {
  code: 'KN107',
  name: 'restore-refused',
  title: "iptables refuses kube-proxy's rules",
  reason: 'RulesRefused',
  overReason: 'RulesAccepted',
  retryInterval: syncEvery,
  endsWithSync: true,
  isConsequence: true,
  programs: ['kube-proxy'],
  needles: iptablesNeedles,
  match(record) {
    const text = iptablesFailure(record);
    if (text === undefined) return undefined;
    return {
      subject: /_\w{1,30} failed \([^)\n]{1,80}\): (?:rule in )?chain ([\w-]{1,60})/.exec(text)?.[1],
      quote: quoteOf(record.error === '' ? text : text.slice(record.message.length + 1), specific),
    };
  },
  what: (details, node) =>
    `kube-proxy cannot update Services on ${node}${onlyFamily(details)}: iptables refuses its rules${subjects(details) !== '' ? ` (${agreeing(details, 'chain', 'chains')} ${subjects(details)})` : ''}.`,
  why(details) {
    if (/you must be root|not permitted/.test(details.quote))
      return 'kube-proxy is not allowed to: its container is not privileged.';
    if (/incompatible/.test(details.quote))
      return 'Another program wrote rules with nft into a table of iptables-nft, which can no longer read it.';
    if (/(?:invalid|unknown|unrecognized) option/.test(details.quote))
      return 'The iptables it runs is of another age than kube-proxy and does not know an option.';
    return 'All rules are handed over at once: one that the kernel refuses stops all. The line number counts lines of that hand-over, often only its COMMIT.';
  },
  fix(details) {
    if (/you must be root|not permitted/.test(details.quote))
      return 'Give its container securityContext.privileged: true.';
    if (/incompatible/.test(details.quote))
      return 'On the node: nft list ruleset; move foreign rules into a table of their own (nft add table ip NAME).';
    if (/(?:invalid|unknown|unrecognized) option/.test(details.quote))
      return "Use kube-proxy's own image with its iptables, or update iptables on the host; compare: iptables -V.";
    const pod = failingPodArguments(details);
    const [chain] = shellWords(details.subjects, 1);
    return (
      `Read the whole error: kubectl logs ${pod ?? '-n kube-system POD'} | grep -A9 iptables-restore. Set kube-proxy to -v=9 once to see the rules` +
      `${chain === undefined ? '' : ` of ${chain}`}; on the node: dmesg | tail. Once at a start it is harmless.`
    );
  },
  impact: unreachable,
};
