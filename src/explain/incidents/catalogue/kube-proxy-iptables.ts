import type { CauseRow } from './cause.ts';
import { find, iptablesFailure, iptablesNeedles, quoteOf } from './record-text.ts';
import {
  agreeing,
  bracketed,
  felixSettings,
  onlyFamily,
  podArguments,
  program,
  shellWords,
  subjects,
  unreachable,
} from './texts.ts';

/** The last 16 characters are the base32 hash of the Service's name and port [pkg/proxy/iptables/proxier.go]. */
const serviceChains = [
  /Couldn't (?:load|find) target [`'‘](KUBE-(?:SVC|SVL|SEP|FW|EXT|XLB)-[A-Z2-7]{16})['’]/,
  /Chain '(KUBE-(?:SVC|SVL|SEP|FW|EXT|XLB)-[A-Z2-7]{16})' does not exist/,
];
const sharedChains = [
  /Couldn't (?:load|find) target [`'‘](KUBE-[A-Z][A-Z-]{1,22})['’]/,
  /Chain '(KUBE-[A-Z][A-Z-]{1,22})' does not exist/,
];

const chainNeedles = ["Couldn't load ", "Couldn't find "];

/** Messages about the lock, of libxtables and of kube-proxy's own code for iptables before 1.6.2. */
const locks = [
  /holding the xtables lock/,
  /Can't lock (?:\/[\w.-]+){1,4} ?\.? ?lock/,
  /failed to (?:acquire|open)(?: old| new)? iptables lock/,
  /(?:[Cc]an't|Could not) open lock file/,
  // This check logs only resource problems of iptables, without what iptables says: it did not get the lock in time.
  /Could not check for iptables canary(?: [\w/-]{1,64})?(?:: |\n)exit status 4(?!\d)/,
];

const badRules = [
  /Bad argument [`'‘]([^'’\n]{0,80})['’]/,
  /host\/network [`'‘]([^'’\n]{0,80})['’] not found/,
  /invalid (?:mask|port\/service) [`'‘]([^'’\n]{0,80})['’] specified/,
  /Bad IP address "([^"\n]{0,80})"/,
];

export const xtablesLock: CauseRow = {
  code: 'KN104',
  name: 'xtables-lock',
  title: 'The xtables lock is held by another program',
  reason: 'XtablesLockHeld',
  overReason: 'XtablesLockFree',
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, 'xtables lock', '/run/xtables', 'iptables lock'],
  match: (record) => find(iptablesFailure(record), locks),
  what: (details, node) =>
    `${program(details)} cannot write iptables rules on ${node}${onlyFamily(details)}: it timed out on the xtables lock.`,
  why: (details) =>
    /open (?:iptables )?lock/.test(details.quote)
      ? '/run/xtables.lock cannot be opened: it is a directory, read-only or not mounted from the host.'
      : 'Another program holds the lock, or each write takes longer than others wait, because there are so many rules.',
  fix: () =>
    "First, on the node: fuser -v /run/xtables.lock shows who holds it. If nobody does for long, there are too many rules (iptables-save | wc -l): use kube-proxy mode nftables. Each Pod that writes iptables must mount the host's file (hostPath type FileOrCreate).",
  impact: unreachable,
};

export const serviceChainMissing: CauseRow = {
  code: 'KN102',
  name: 'service-chain-missing',
  title: 'A Service chain of kube-proxy is gone',
  reason: 'ServiceChainMissing',
  overReason: 'ServiceChainsRestored',
  endsWithSync: true,
  deletedByOthers: true,
  programs: ['kube-proxy'],
  needles: [...iptablesNeedles, ...chainNeedles],
  match: (record) => find(iptablesFailure(record), serviceChains),
  what: (details, node) =>
    `Service rules on ${node}${onlyFamily(details)} are stale: something deletes chains of kube-proxy${details.services.length > 0 ? '' : bracketed(details)}.`,
  why: () => 'Between two full syncs, kube-proxy does not write again what another program deletes.',
  fix(details) {
    const isOfCalico = !(
      details.facts.felix?.kind === 'absent' ||
      felixSettings(details)?.bpfEnabled === false ||
      details.facts.ebpf === false
    );
    const steps = [
      ...(isOfCalico
        ? [
            'kubectl get felixconfigurations -o yaml: with bpfEnabled: true, set bpfKubeProxyIptablesCleanupEnabled: false',
          ]
        : []),
      'firewalld, ufw, scripts with iptables -F',
      'a second kube-proxy: pgrep -a kube-proxy',
    ];
    return `Check, likeliest first: ${steps.map((step, index) => `${index + 1}. ${step}`).join('. ')}.`;
  },

  impact: unreachable,
};

export const sharedChainMissing: CauseRow = {
  code: 'KN103',
  name: 'shared-chain-missing',
  title: 'A shared KUBE- chain is gone',
  reason: 'SharedChainMissing',
  overReason: 'SharedChainRestored',
  endsWithSync: true,
  deletedByOthers: true,
  programs: ['kube-proxy'],
  needles: [...iptablesNeedles, ...chainNeedles],
  match: (record) => find(iptablesFailure(record), sharedChains),
  what: (details, node) =>
    `kube-proxy cannot update Services on ${node}${onlyFamily(details)}: ${agreeing(details, 'the chain', 'the chains')} ${subjects(details) || 'KUBE-…'} that all of them use ${agreeing(details, 'is', 'are')} gone.`,
  why: (details) =>
    details.subjects.includes('KUBE-MARK-DROP')
      ? 'Kubelets before 1.27 made KUBE-MARK-DROP. Either this kube-proxy is older than its kubelet, or the chain was flushed.'
      : 'A firewall reload, iptables -F or the cleanup of another program deleted it.',
  fix: (details) =>
    (details.subjects.includes('KUBE-MARK-DROP')
      ? 'Bring kube-proxy to the version of the kubelet. At once: iptables -t nat -N KUBE-MARK-DROP; iptables -t nat -A KUBE-MARK-DROP -j MARK --or-mark 0x8000 (ip6tables for IPv6). '
      : '') + 'Restart kube-proxy on the node: it begins with a full sync. Then find who flushes iptables.',
  impact: unreachable,
};

export const badRule: CauseRow = {
  code: 'KN106',
  name: 'bad-rule',
  title: 'A rule is malformed',
  reason: 'InvalidRule',
  overReason: 'RulesValidAgain',
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, 'Bad argument'],
  match: (record) => find(iptablesFailure(record), badRules),
  what: (details, node) =>
    `${program(details)} cannot update its rules on ${node}${onlyFamily(details)}: it writes one that iptables does not understand.`,
  why: (details) =>
    `A value is empty or malformed${subjects(details) !== '' ? `, next to ${subjects(details, 1)}` : ''}: no clusterCIDR, or a wrong address in a Service or policy. One bad rule stops all others.`,
  fix: (details) =>
    details.failing === 'felix'
      ? 'Look for addresses and ports in the newest NetworkPolicies, NetworkSets and IP pools: calicoctl get networkset -A -o yaml; calicoctl get globalnetworkset -o yaml.'
      : 'Look at clusterCIDR in kubectl -n kube-system get configmap kube-proxy -o yaml, and at externalIPs and loadBalancerSourceRanges of Services. kube-proxy -v=9 prints the rules.',
  impact: unreachable,
};

/** Matches lines of iptables that are worth quoting, because they say what is wrong. */
const specific =
  /Permission denied \(you must be root\)|Operation not permitted|(?:RULE|CHAIN)_\w{1,30} failed|No chain\/target\/match by that name|invalid option|unknown option|unrecognized option|line \d+ failed|input error on line \d+/;

export const jumpMissing: CauseRow = {
  code: 'KN108',
  name: 'jump-missing',
  title: 'No rule leads to the chains of kube-proxy',
  reason: 'ServiceJumpMissing',
  overReason: 'ServiceJumpRestored',
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
    if (/(?:invalid|unknown|unrecognized) option/.test(details.quote))
      return 'Its iptables is older or newer than kube-proxy, and lacks an option.';
    return 'All rules are written at once, so one that the kernel refuses stops all. The line number is that of the whole input, often of its COMMIT.';
  },
  fix(details) {
    if (/you must be root|not permitted/.test(details.quote))
      return 'Give its container securityContext.privileged: true.';
    if (/(?:invalid|unknown|unrecognized) option/.test(details.quote))
      return "Use kube-proxy's own image with its iptables, or update iptables on the host; compare: iptables -V.";
    const [chain] = shellWords(details.subjects, 1);
    return (
      `Read the whole error: kubectl logs ${podArguments(details)} | grep -A9 iptables-restore. Set kube-proxy to -v=9 once to see the rules` +
      `${chain === undefined ? '' : ` of ${chain}`}; on the node: dmesg | tail. Once at a start it is harmless.`
    );
  },
  impact: unreachable,
};
