import { isSubdomain } from '../../platform/api-names.ts';
import type { FelixSettings, IncidentDetails, NodeFacts } from '../../model/incident.ts';
import type { ProgramRecord } from '../../model/program-record.ts';
import type { CauseRow, HintDetails, Symptoms } from './cause.ts';
import { felixPatch, felixSettings, onlyFamily, subjects, syncEvery, unreachable } from './texts.ts';

/** What felix logs at its start where eBPF is asked for: that it is on, or that the kernel has none and it goes on without [3.13 to 3.32]. */
const ebpfRecords = ['BPF enabled, ', 'BPF dataplane mode enabled but not supported by the kernel'] as const;

/** Whether felix says that it uses eBPF, or that it cannot; undefined where it says neither. */
export function ebpfOf({ program: writer, message }: ProgramRecord): boolean | undefined {
  if (writer !== 'felix') return undefined;
  const [on, unsupported] = ebpfRecords;
  if (message.startsWith(on)) return true;
  return message.startsWith(unsupported) ? false : undefined;
}

/** What kube-proxy logs when its chains or tables are gone. */
const chainsGone: readonly string[] = ['KN102', 'KN103', 'KN107', 'KN108', 'KN111'];

export const felixDeletesChains: CauseRow = {
  code: 'KN101',
  name: 'felix-deletes-kube-proxy-chains',
  title: "kube-proxy's chains are deleted by Calico",
  reason: 'CalicoDeletesServiceChains',
  overReason: 'ServiceChainsRestored',
  retryInterval: syncEvery,
  explains: { codes: chainsGone, when: isDeletedByFelix, hint: uncheckedConflict },
  needles: ebpfRecords,
  what: (details, node) =>
    `kube-proxy cannot update Services on ${node}${onlyFamily(details)}: Calico ${details.facts.ebpf === true ? 'deletes' : 'is told to delete'} its chains${subjects(details) !== '' ? ` (${subjects(details)})` : ''}.`,
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
 * In BPF mode felix takes kube-proxy for gone and deletes what it left, unless that is turned off (felix/dataplane/linux/int_dataplane.go);
 * releases since 2026 delete kube-proxy's nftables tables, too. Where the kernel has no eBPF it takes that mode for off (felix/daemon/daemon.go).
 */
function isDeletedByFelix({ felix, ebpf, kubeProxyHere }: NodeFacts, { failing, subjects: named }: Symptoms): boolean {
  if (felix?.kind !== 'settings' || !deletes(felix.settings) || ebpf === false) return false;
  // A kube-proxy that logs is there, with a Pod or without: in k3s it has none.
  if (failing !== 'kube-proxy' && !(failing === 'unknown' && kubeProxyHere === true)) return false;
  const chains = named.filter((subject) => subject.includes('KUBE-'));
  return chains.length === 0 || chains.some((chain) => deletedByFelix.test(chain));
}

function deletes({ bpfEnabled, bpfKubeProxyIptablesCleanupEnabled }: FelixSettings): boolean {
  return bpfEnabled === true && bpfKubeProxyIptablesCleanupEnabled !== false;
}

/** Not KUBE-MARK-MASQ and its like, KUBE-SVL- or KUBE-EXT- (felix/rules/rule_defs.go). */
const deletedByFelix = /KUBE-(?:FORWARD|SERVICES|EXTERNAL-SERVICES|NODEPORTS|SVC-|SEP-|FW-|XLB-)/;

/** Only where it would have been looked for. */
function uncheckedConflict({ code, diagnosis, facts: { felix } }: HintDetails): string | undefined {
  if (felix?.kind !== 'unreadable' || diagnosis !== code || !chainsGone.includes(code)) return undefined;
  return felix.reason === 'forbidden'
    ? 'Whether felix deletes the chains is not known: this agent lacks the right to get felixconfigurations.'
    : 'Whether felix deletes the chains is not known: FelixConfiguration could not be read.';
}

/** The object whose patch holds here: `node.<name>` hides `default`. It goes into a command, so a name must be one, and short. */
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
  // Longer than any name would leave no room; it is the text of an API object and goes into a command.
  return /^[a-z0-9][a-z0-9.-]{0,79}$/.test(name) ? name : 'default';
}
