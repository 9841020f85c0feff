import type { IncidentDetails } from '../../model/incident.ts';
import type { ProgramRecord } from '../../model/program-record.ts';
import { objectToPatch } from '../diagnosis.ts';
import type { Cause } from './cause.ts';
import { felixSettings, onlyFamily, program, short, subjects } from './texts.ts';
import { syncEvery, unreachable } from './impact.ts';

/* Causes that no line tells: what the lines say is explained by what was found out around them. */

const never = () => undefined;

/** What felix logs at its start where eBPF is asked for: that it is on, or that the kernel has none and it goes on without [3.13 to 3.32]. */
const ebpfRecords = ['BPF enabled, ', 'BPF dataplane mode enabled but not supported by the kernel'] as const;

/** Whether felix says that it uses eBPF, or that it cannot; undefined where it says neither. */
export function ebpfOf({ program: writer, message }: ProgramRecord): boolean | undefined {
  if (writer !== 'felix') return undefined;
  const [on, unsupported] = ebpfRecords;
  if (message.startsWith(on)) return true;
  return message.startsWith(unsupported) ? false : undefined;
}

export const felixDeletesChains: Cause = {
  code: 'KN101',
  name: 'felix-deletes-kube-proxy-chains',
  title: "kube-proxy's chains are deleted by Calico",
  severity: 'serious',
  reason: 'CalicoDeletesServiceChains',
  overReason: 'ServiceChainsRestored',
  retryInterval: syncEvery,
  programs: [],
  needles: ebpfRecords,
  match: never,
  what: (details, node) =>
    `kube-proxy cannot update Services on ${node}${onlyFamily(details)}: Calico ${details.facts.ebpf === true ? 'deletes' : 'is told to delete'} its chains${subjects(details) !== '' ? ` (${subjects(details)})` : ''}.`,
  why: (details) =>
    `FelixConfiguration ${objectName(felixSettings(details)?.bpfFrom)} has bpfEnabled: true and ${cleanup(details)}, so felix removes KUBE- chains while kube-proxy still runs and needs them${
      details.facts.ebpf === true ? '' : ', unless the kernel lacks eBPF and felix does without'
    }.`,
  fix: (details) =>
    `Run: ${patch(patched(details), '"bpfKubeProxyIptablesCleanupEnabled":false')} ` +
    `Or, without eBPF, the same with "bpfEnabled":false. Or, if Calico's eBPF is to replace kube-proxy, remove kube-proxy.`,
  impact: unreachable,
};

function cleanup(details: IncidentDetails): string {
  const { bpfFrom, cleanupFrom } = felixSettings(details) ?? {};
  if (cleanupFrom === undefined) return 'does not turn off the cleanup';
  return cleanupFrom === bpfFrom ? 'turns on the cleanup' : `${objectName(cleanupFrom)} turns on the cleanup`;
}

function patched(details: IncidentDetails): string {
  const settings = felixSettings(details);
  return objectName(settings && objectToPatch(settings));
}

function objectName(name = ''): string {
  // Longer than any name would leave no room; it is the text of an API object and goes into a command.
  return /^[a-z0-9][a-z0-9.-]{0,79}$/.test(name) ? name : 'default';
}

function patch(name: string, setting: string): string {
  return `kubectl patch felixconfiguration ${name} --type=merge --patch='{"spec":{${setting}}}'`;
}

export const mixedBackends: Cause = {
  code: 'KN110',
  name: 'mixed-iptables-backends',
  title: 'Two backends of iptables on one node',
  severity: 'serious',
  reason: 'MixedIptablesBackends',
  overReason: 'IptablesBackendsAgree',
  retryInterval: syncEvery,
  programs: [],
  needles: [],
  match: never,
  what: (details, node) =>
    `Programs on ${node} write their rules into two backends of iptables that do not see each other; ${program(details)} fails over it.`,
  why(details) {
    const used = Object.entries(details.facts.backends).map(([name, backend]) => `${short(name, 20)} uses ${backend}`);
    return `${used.length > 0 ? `${used.slice(0, 4).join(', ')}. ` : ''}Both sets of rules apply to each packet, and one deletes or misses what the other made.`;
  },
  fix: (details) =>
    `Choose the backend of the host (iptables -V). For Calico, run: ${patch('default', `"iptablesBackend":"${choice(details)}"`)} ` +
    'For kube-proxy, use its own image, which follows the host. Then reboot the node, so that the rules of the other are gone.',
  impact: unreachable,
};

/** What kube-proxy found on the host is what felix should use. */
function choice({ facts: { backends } }: IncidentDetails): string {
  if (backends['kube-proxy'] === 'legacy') return 'Legacy';
  return backends['kube-proxy'] === 'nf_tables' ? 'NFT' : 'Auto';
}

export const firewallReload: Cause = {
  code: 'KN205',
  name: 'firewall-reload',
  title: "A reload of the host's firewall broke the rules of Pods",
  severity: 'serious',
  reason: 'FirewallReloaded',
  overReason: 'FirewallCalm',
  retryInterval: 180_000,
  programs: [],
  needles: [],
  match: never,
  what: (details, node) =>
    `The host's firewall on ${node} was reloaded and changed the rules of ${program(details)}: Pods may have lost the outside world.`,
  why: (details) =>
    `A reload of firewalld or ufw flushes iptables or puts its own rules first; ${
      details.facts.firewallDropsSince === undefined
        ? 'rules were found changed at that time'
        : "the host's firewall began to drop packets of Pods at that time"
    }.`,
  fix: () =>
    'Let it accept Pods: firewall-cmd --permanent --zone=trusted --add-source=POD_RANGE; firewall-cmd --reload. Or, where something else protects nodes, turn it off: systemctl disable --now firewalld (or ufw disable). Then restart calico-node and kube-proxy of this node, which write their rules anew.',
  impact: () => 'Traffic of this Pod may be dropped by the firewall of its node.',
};
