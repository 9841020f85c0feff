import { find, isProblem, textOf } from './record-text.ts';
import type { CauseRow } from './cause.ts';
import { iptablesFailure, iptablesNeedles, isCleanup, nftablesNeedles, programmingFailure } from './failures.ts';
import { agreeing, felixSettings, onlyFamily, program, shellWords, subjects, syncEvery, unreachable } from './texts.ts';

/** The 16 characters are base32 of a hash over the Service's name and port [pkg/proxy/iptables/proxier.go]. */
const serviceChains = [
  /Couldn't (?:load|find) target [`'‘](KUBE-(?:SVC|SVL|SEP|FW|EXT|XLB)-[A-Z2-7]{16})['’]/,
  /Chain '(KUBE-(?:SVC|SVL|SEP|FW|EXT|XLB)-[A-Z2-7]{16})' does not exist/,
];
const sharedChains = [
  /Couldn't (?:load|find) target [`'‘](KUBE-[A-Z][A-Z-]{1,22})['’]/,
  /Chain '(KUBE-[A-Z][A-Z-]{1,22})' does not exist/,
];

/** What iptables says of them on a line of its own. */
const chainNeedles = ["Couldn't load ", "Couldn't find "];

/** libxtables and kube-proxy's own lock code for iptables before 1.6.2. */
const locks = [
  /holding the xtables lock/,
  /Can't lock (?:\/[\w.-]+){1,4} ?\.? ?lock/,
  /(?:failed to (?:acquire|open)(?: old| new)? iptables lock)/,
  /[Cc]an't open lock file/,
  /Could not open lock file/,
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
  retryInterval: syncEvery,
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, 'xtables lock', '/run/xtables', 'iptables lock'],
  match(record) {
    const found = find(iptablesFailure(record), locks);
    return found === undefined ? undefined : { quote: found.quote };
  },
  what: (details, node) =>
    `${program(details)} cannot write iptables rules on ${node}${onlyFamily(details)}: it timed out on the xtables lock.`,
  why: (details) =>
    /open (?:iptables )?lock/.test(details.quote)
      ? '/run/xtables.lock cannot be opened: it is a directory, read-only or not mounted from the host.'
      : 'Another program holds /run/xtables.lock, or so many rules are written that each write takes longer than others wait.',
  fix: () =>
    "On the node: fuser -v /run/xtables.lock shows who holds it; iptables-save | wc -l. Each Pod that writes iptables must mount the host's file (hostPath type FileOrCreate). With many thousands of rules, use kube-proxy mode nftables.",
  impact: unreachable,
};

export const serviceChainMissing: CauseRow = {
  code: 'KN102',
  name: 'service-chain-missing',
  title: 'A Service chain of kube-proxy is gone',
  reason: 'ServiceChainMissing',
  overReason: 'ServiceChainsRestored',
  retryInterval: syncEvery,
  endsWithSync: true,
  deletedByOthers: true,
  programs: ['kube-proxy'],
  needles: [...iptablesNeedles, ...chainNeedles],
  match: (record) => find(iptablesFailure(record), serviceChains),
  what: (details, node) =>
    `Service rules on ${node}${onlyFamily(details)} are stale: ${agreeing(details, 'a chain', 'chains')} of kube-proxy ${agreeing(details, 'is', 'are')} deleted (${subjects(details) || 'unnamed'}).`,
  why: () =>
    "Another program deletes them between two full syncs: Calico's cleanup for eBPF, a firewall's reload or a second kube-proxy.",
  fix: (details) =>
    (details.facts.felix?.kind === 'absent' ||
    felixSettings(details)?.bpfEnabled === false ||
    details.facts.ebpf === false
      ? ''
      : 'Check kubectl get felixconfigurations -o yaml: with bpfEnabled: true set bpfKubeProxyIptablesCleanupEnabled: false. ') +
    'Check firewalld, ufw, scripts with iptables -F, and pgrep -a kube-proxy for a second one.',
  impact: unreachable,
};

export const sharedChainMissing: CauseRow = {
  code: 'KN103',
  name: 'shared-chain-missing',
  title: 'A shared KUBE- chain is gone',
  reason: 'SharedChainMissing',
  overReason: 'SharedChainRestored',
  retryInterval: syncEvery,
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
  title: 'A rule is no valid rule',
  reason: 'InvalidRule',
  overReason: 'RulesValidAgain',
  retryInterval: syncEvery,
  endsWithSync: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, 'Bad argument'],
  match: (record) => find(iptablesFailure(record), badRules),
  what: (details, node) =>
    `${program(details)} cannot update its rules on ${node}${onlyFamily(details)}: it makes one that iptables does not understand.`,
  why: (details) =>
    `A value is empty or malformed${subjects(details) !== '' ? `, next to ${subjects(details, 1)}` : ''}: no clusterCIDR, or an address in a Service or policy that is none. One bad rule refuses all.`,
  fix: (details) =>
    details.failing === 'felix'
      ? 'Look for addresses and ports in the newest NetworkPolicies, NetworkSets and IP pools: calicoctl get networkset -A -o yaml; calicoctl get globalnetworkset -o yaml.'
      : 'Look at clusterCIDR in kubectl -n kube-system get configmap kube-proxy -o yaml, and at externalIPs and loadBalancerSourceRanges of Services. kube-proxy -v=9 prints the rules.',
  impact: unreachable,
};

export const chainBusy: CauseRow = {
  code: 'KN109',
  name: 'chain-busy',
  title: 'A chain cannot be deleted',
  reason: 'ChainBusy',
  overReason: 'ChainDeleted',
  retryInterval: syncEvery,
  neverFatal: true,
  programs: ['kube-proxy', 'felix'],
  needles: [...iptablesNeedles, ...nftablesNeedles, 'DEL failed', 'Device or resource busy'],
  match(record) {
    const cleanup =
      record.program === 'kube-proxy' &&
      isProblem(record) &&
      isCleanup(record) &&
      record.message.startsWith('Failed to execute iptables-restore');
    const text = cleanup ? textOf(record) : programmingFailure(record);
    return find(text, [
      /CHAIN_(?:USER_)?DEL failed \(Device or resource busy\): chain ([\w-]{1,60})/,
      /Device or resource busy\n[ \t]*delete chain \w+ [\w-]+ ([^\s;]{1,120})/,
    ]);
  },
  what: (details, node) =>
    `${program(details)} cannot delete ${subjects(details) || 'a chain'} on ${node}${onlyFamily(details)}: rules of another program still jump there.`,
  why: () =>
    'Once at a start that is harmless. Again and again it means that two kube-proxies, or two backends of iptables (legacy and nf_tables), share the node.',
  fix: (details) => {
    const [chain = 'KUBE-'] = shellWords(details.subjects, 1);
    return `See who jumps there: iptables-nft-save | grep -e ${chain}; iptables-legacy-save | grep -e ${chain}. Let one program with one backend own the rules, then reboot the node or delete the other's.`;
  },
  impact: () => 'Services may be out of date on this node.',
};
