import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { IncidentDetails } from '../../../base/model/incident.ts';
import { objectToPatch } from './behind.ts';
import type { CauseRow } from './cause.ts';
import { quotable, startsWithAny, textOfRecord } from './record-text.ts';
import { bracketed, felixPatch, felixSettings, podArguments } from './texts.ts';

/** Beginnings of felix's errors with eBPF [3.13 to 3.32: felix/daemon, felix/dataplane/linux, felix/bpf]. */
const ebpf = [
  'BPF dataplane mode enabled but not supported by the kernel',
  'error creating bpf maps',
  'Failed to create BPF endpoint manager',
  'BPFConnTimeLBEnabled but failed to attach connect-time load balancer',
  'Failed to mount bpffs',
  'Failed to configure BPF devices',
  'Failed to apply policy to interface',
  'Failed to apply policy to endpoint, leaving it dirty',
  'Failed to add policy to workload, removing from iptables allow list',
  'BPF program load failed permanently',
  'Failed to load program',
  'Failed to attach to TC section',
  'Cannot load interface state map',
];

/** Beginnings of felix's errors with XDP, which it uses without eBPF for policies of the node's own interfaces. */
const xdp = ['failed to wipe the XDP state', 'failed to set XDP failsafe ports', 'failed to disable XDP'];

/** An interface that is gone needs no program. */
const gone = /\b(?:Link not found|no such network interface|no such device|interface not found)\b/i;

export const ebpfFailed: CauseRow = {
  code: 'KN209',
  name: 'felix-ebpf-failed',
  title: "Calico's eBPF does not work",
  reason: 'CalicoEbpfFailed',
  overReason: 'CalicoEbpfWorks',
  retryInterval: 60_000,
  programs: ['felix'],
  needles: ebpf,
  match(record) {
    if (!startsWithAny(record.message, ebpf) || gone.test(textOfRecord(record))) return undefined;
    const { iface, name } = record.fields;
    return { subject: (iface ?? name)?.replaceAll('"', ''), quote: wholeOf(record) };
  },
  what: (details, node) =>
    isUnsupported(details)
      ? `Calico's eBPF is on, and the kernel of ${node} does not support it: felix does without.`
      : `Calico cannot load or attach its eBPF programs on ${node}${bracketed(details)}: policy and Services may not work there.`,
  why(details) {
    const { quote } = details;
    if (isUnsupported(details))
      return 'The kernel is too old (5.10 or newer is needed) or was built without it. If kube-proxy was removed, no Service works on this node.';
    if (/verifier/.test(quote))
      return "The kernel's verifier refuses the program: the kernel is too old (5.10 or newer is needed) or has a bug.";
    if (/not permitted|ermission denied/.test(quote))
      return 'felix is not allowed to: calico-node is not privileged, its memlock limit is too low, or the kernel is locked down (Secure Boot).';
    if (/cgroup/.test(quote)) return 'The root of cgroup v2 is not mounted where felix looks for it.';
    if (/mismatch|reusing pinned map/.test(quote))
      return 'Maps of another release of Calico are pinned in /sys/fs/bpf, and do not fit.';
    return 'The kernel refuses a program or a map; the lines of libbpf just before say which.';
  },
  fix: (details) =>
    isUnsupported(details)
      ? 'Update the kernel. Or turn eBPF off again, after kube-proxy runs on all nodes: bpfEnabled: false in FelixConfiguration; with the Tigera operator linuxDataplane: Iptables of the Installation.'
      : `Read kubectl logs ${podArguments(details, 'calico-system')} -c calico-node | grep -B9 -e libbpf -e PANIC. On the node: uname -r; ls /sys/fs/bpf; dmesg | tail. Needed: a kernel of 5.10 or newer, cgroup v2, and a privileged calico-node.`,
  impact: () => 'Policy may not reach this Pod, and Services may not be reachable from it.',
};

export const xdpFailed: CauseRow = {
  code: 'KN210',
  name: 'felix-xdp-failed',
  title: "Calico's XDP does not work",
  reason: 'CalicoXdpFailed',
  overReason: 'CalicoXdpWorks',
  retryInterval: 60_000,
  neverFatal: true,
  programs: ['felix'],
  needles: xdp,
  match: (record) => (startsWithAny(record.message, xdp) ? { quote: wholeOf(record) } : undefined),
  what: (_, node) =>
    `felix on ${node} cannot load or remove its XDP programs: it continues without them, and tries again.`,
  why: ({ quote }) =>
    /not permitted|ermission denied/.test(quote)
      ? 'felix is not allowed to load them: the memlock limit of calico-node is too low, it is not privileged, or the kernel is locked down.'
      : 'The kernel refuses them. XDP only speeds up the denials of untracked policies for the host; nothing else needs it.',
  fix: (details) =>
    `Turn it off: ${felixPatch(objectToPatch(felixSettings(details)), '"xdpEnabled":false')} No verdict changes by that.`,
};

/** The message alone lacks the reason, and the error alone lacks the failed call. */
function wholeOf(record: ProgramRecord): string {
  return quotable(textOfRecord(record).replaceAll(/[.:]?\n/g, ': '));
}

function isUnsupported({ quote }: IncidentDetails): boolean {
  return quote.startsWith('BPF dataplane mode enabled but not supported');
}
