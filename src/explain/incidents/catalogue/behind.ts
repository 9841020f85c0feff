import type { FelixSettings, IncidentDetails, NodeFacts } from '../../../base/model/incident.ts';
import type { Millis } from '../../../base/model/log-line.ts';
import type { ProgramRecord } from '../../../base/model/program-record.ts';
import { isSubdomain } from '../../../base/platform/api-names.ts';
import type { CauseRow, HintDetails, Symptoms } from './cause.ts';
import { bracketed, felixPatch, felixSettings, onlyFamily, program, short, unreachable } from './texts.ts';

/** With bpfEnabled, felix logs one of these at its start: eBPF is on, or the kernel does not support it [Calico 3.13 to 3.32]. */
const ebpfRecords = ['BPF enabled, ', 'BPF dataplane mode enabled but not supported by the kernel'] as const;

export function ebpfOf({ program: writer, message }: ProgramRecord): boolean | undefined {
  if (writer !== 'felix') return undefined;
  const [on, unsupported] = ebpfRecords;
  if (message.startsWith(on)) return true;
  return message.startsWith(unsupported) ? false : undefined;
}

/** The codes of kube-proxy's failures when its chains or tables are gone. */
const chainsGone: readonly string[] = ['KN102', 'KN103', 'KN107', 'KN108', 'KN111'];

export const felixDeletesChains: CauseRow = {
  code: 'KN101',
  name: 'felix-deletes-kube-proxy-chains',
  title: "kube-proxy's chains are deleted by Calico",
  reason: 'CalicoDeletesServiceChains',
  overReason: 'ServiceChainsRestored',
  explains: { codes: chainsGone, when: isDeletedByFelix, hint: uncheckedConflict },
  needles: ebpfRecords,
  what: (details, node) =>
    `kube-proxy cannot update Services on ${node}${onlyFamily(details)}: Calico ${details.facts.ebpf === true ? 'deletes' : 'is told to delete'} its chains${bracketed(details)}.`,
  why: (details) =>
    `FelixConfiguration ${objectName(felixSettings(details)?.bpfFrom)} has bpfEnabled: true and ${cleanup(details)}, so felix removes KUBE- chains while kube-proxy still runs and needs them${
      details.facts.ebpf === true ? '' : ', unless the kernel lacks eBPF and felix does without'
    }.`,
  fix: (details) =>
    `Run: ${felixPatch(objectToPatch(felixSettings(details)), '"bpfKubeProxyIptablesCleanupEnabled":false')} ` +
    `Or, without eBPF, the same with "bpfEnabled":false. Or, if Calico's eBPF is to replace kube-proxy, remove kube-proxy.`,
  impact: unreachable,
};

/**
 * In BPF mode felix assumes that kube-proxy is gone and deletes its rules, since 2026 also its nftables tables, unless that is turned off
 * (felix/dataplane/linux/int_dataplane.go). If the kernel has no eBPF, felix runs without that mode (felix/daemon/daemon.go).
 */
function isDeletedByFelix({ felix, ebpf, kubeProxyHere }: NodeFacts, { failing, subjects: named }: Symptoms): boolean {
  if (felix?.kind !== 'settings' || !deletes(felix.settings) || ebpf === false) return false;
  // A kube-proxy that logs is running, even if it has no Pod, as in k3s.
  if (failing !== 'kube-proxy' && !(failing === 'unknown' && kubeProxyHere === true)) return false;
  const chains = named.filter((subject) => subject.includes('KUBE-'));
  return chains.length === 0 || chains.some((chain) => deletedByFelix.test(chain));
}

function deletes({ bpfEnabled, bpfKubeProxyIptablesCleanupEnabled }: FelixSettings): boolean {
  return bpfEnabled === true && bpfKubeProxyIptablesCleanupEnabled !== false;
}

/** Chains that felix deletes. It leaves KUBE-MARK-MASQ and similar ones, KUBE-SVL- and KUBE-EXT- (felix/rules/rule_defs.go). */
const deletedByFelix = /KUBE-(?:FORWARD|SERVICES|EXTERNAL-SERVICES|NODEPORTS|SVC-|SEP-|FW-|XLB-)/;

function uncheckedConflict({ code, diagnosis, facts: { felix } }: HintDetails): string | undefined {
  if (felix?.kind !== 'unreadable' || diagnosis !== code || !chainsGone.includes(code)) return undefined;
  return felix.reason === 'forbidden'
    ? 'Whether felix deletes the chains is not known: this agent lacks the right to get felixconfigurations.'
    : 'Whether felix deletes the chains is not known: FelixConfiguration could not be read.';
}

/** The name is checked, because it becomes part of a command. */
export function objectToPatch(settings: FelixSettings | undefined): string {
  const own = [settings?.cleanupFrom, settings?.bpfFrom].find((name) => name?.startsWith('node.'));
  return own !== undefined && isSubdomain(own) && own.length <= 80 ? own : 'default';
}

function cleanup(details: IncidentDetails): string {
  const { bpfFrom, cleanupFrom } = felixSettings(details) ?? {};
  if (cleanupFrom === undefined) return 'does not turn off the cleanup';
  return cleanupFrom === bpfFrom ? 'turns on the cleanup' : `${objectName(cleanupFrom)} turns on the cleanup`;
}

function objectName(name = ''): string {
  // The name comes from an API object and becomes part of an Event, so only short valid names are accepted.
  return /^[a-z0-9][a-z0-9.-]{0,79}$/.test(name) ? name : 'default';
}

/** The lines of one reload come within seconds. Over a longer time, another program overwrites the rules again and again. */
const onceWithin: Millis = 10_000;
const reloadWithin: Millis = 60_000;

export const firewallReload: CauseRow = {
  code: 'KN205',
  name: 'firewall-reload',
  title: "A reload of the host's firewall broke the rules of Pods",
  reason: 'FirewallReloaded',
  overReason: 'FirewallCalm',
  retryInterval: 180_000,
  explains: {
    codes: ['KN102', 'KN103', 'KN107', 'KN108', 'KN204'],
    when: ({ firewallDropsSince: since }, { first, last }) =>
      last - first <= onceWithin && since !== undefined && Math.abs(since - first) <= reloadWithin,
  },
  what: (details, node) =>
    `The host's firewall on ${node} was reloaded and changed the rules of ${program(details)}: Pods may have lost the outside world.`,
  why: (details) =>
    `A reload of firewalld or ufw flushes iptables or puts its own rules first; ${
      details.facts.firewallDropsSince === undefined
        ? 'rules were found changed at that time'
        : "the host's firewall began to drop packets of Pods at that time"
    }.`,
  fix: () =>
    'Let it accept Pods: add the Pod range to its zone trusted (firewall-cmd --permanent --zone=trusted with --add-source). Or, if something else protects nodes, turn it off: systemctl disable --now firewalld (or ufw disable). Then restart calico-node and kube-proxy here: they rebuild their rules.',
  impact: () => 'Traffic of this Pod may be dropped by the firewall of its node.',
};

export const mixedBackends: CauseRow = {
  code: 'KN110',
  name: 'mixed-iptables-backends',
  title: 'Two backends of iptables on one node',
  reason: 'MixedIptablesBackends',
  overReason: 'IptablesBackendsAgree',
  explains: {
    codes: ['KN102', 'KN103', 'KN107', 'KN108', 'KN109', 'KN201', 'KN202', 'KN204'],
    when: (facts) => backendsOf(facts) !== undefined,
    hint: bothBackends,
  },
  what: (details, node) =>
    `Programs on ${node} write their rules into two iptables backends that do not see each other's rules; this makes ${program(details)} fail.`,
  why(details) {
    const used = Object.entries(details.facts.backends).map(([name, backend]) => `${short(name, 20)} uses ${backend}`);
    return `${used.length > 0 ? `${used.slice(0, 4).join(', ')}. ` : ''}Both sets of rules apply to each packet, and one deletes or misses what the other made.`;
  },
  fix: (details) =>
    `Choose the backend of the host (iptables -V). For Calico, run: ${felixPatch('default', `"iptablesBackend":"${choice(details)}"`)} ` +
    'For kube-proxy, use its own image, which follows the host. Then reboot the node, so that the rules of the other are gone.',
  impact: unreachable,
};

/** Returns the backend that felix should use: the backend that kube-proxy found on the host, or `Auto`. */
function choice({ facts: { backends } }: IncidentDetails): string {
  if (backends['kube-proxy'] === 'legacy') return 'Legacy';
  return backends['kube-proxy'] === 'nf_tables' ? 'NFT' : 'Auto';
}

function backendsOf({ backends, felix }: NodeFacts): { kubeProxy: string; felix: string } | undefined {
  const kubeProxy = backends['kube-proxy'];
  const felixs = backends.felix ?? (felix?.kind === 'settings' ? configuredBackend(felix.settings) : undefined);
  if (kubeProxy === undefined || felixs === undefined || kubeProxy === felixs) return undefined;
  return { kubeProxy, felix: felixs };
}

/** Returns undefined for `Auto`, the default, and for felix's own nftables tables, which need no iptables. */
function configuredBackend({ iptablesBackend, nftablesMode }: FelixSettings): 'legacy' | 'nf_tables' | undefined {
  if (nftablesMode?.toLowerCase() === 'enabled') return undefined;
  switch (iptablesBackend?.toLowerCase()) {
    case 'legacy':
      return 'legacy';
    case 'nft':
      return 'nf_tables';
    default:
      return undefined;
  }
}

function bothBackends({ code, diagnosis, facts }: HintDetails): string | undefined {
  const mixed = diagnosis === 'KN110' || !/^KN[12]/.test(code) ? undefined : backendsOf(facts);
  if (mixed === undefined) return undefined;
  return `kube-proxy uses iptables ${mixed.kubeProxy} and felix ${mixed.felix} on this node: neither sees the rules of the other.`;
}
