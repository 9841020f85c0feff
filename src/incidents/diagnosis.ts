import { isSubdomain } from '../platform/api-names.ts';
import type { FelixSettings, IncidentDetails, NodeFacts } from '../model/incident.ts';
import type { Millis } from '../model/log-line.ts';
import type { Failing } from '../model/program-record.ts';

/** What a diagnosis goes by, beside the facts. */
export interface Symptoms {
  failing: Failing;
  /** Chains, as far as the lines name them. */
  subjects: readonly string[];
  first: Millis;
  last: Millis;
  failures: number;
}

interface Row {
  /** The causes as the lines tell them that this may be behind. */
  of: ReadonlySet<string>;
  when: (facts: NodeFacts, symptoms: Symptoms) => boolean;
  code: string;
}

/** Lines of one reload come within seconds; a fight goes on for as long as both are there. */
const onceWithin: Millis = 10_000;
const reloadWithin: Millis = 60_000;

/** What kube-proxy says when its chains or tables are gone. */
const chainsGone = new Set(['KN102', 'KN103', 'KN107', 'KN108', 'KN111']);

/** Most telling first. */
const rows: readonly Row[] = [
  {
    of: chainsGone,
    when: felixDeletesChains,
    code: 'KN101',
  },
  {
    of: new Set(['KN102', 'KN103', 'KN107', 'KN108', 'KN204']),
    when: (facts, symptoms) => isOnce(symptoms) && firewallBeganWith(facts, symptoms),
    code: 'KN205',
  },
  {
    of: new Set(['KN102', 'KN103', 'KN107', 'KN108', 'KN109', 'KN201', 'KN202', 'KN204']),
    when: (facts) => mixedBackends(facts) !== undefined,
    code: 'KN110',
  },
];

/** The cause that explains best what the lines say (`code`): itself where the facts tell nothing more. */
export function diagnose(code: string, facts: NodeFacts, symptoms: Symptoms): string {
  return rows.find((row) => row.of.has(code) && row.when(facts, symptoms))?.code ?? code;
}

/**
 * In BPF mode felix takes kube-proxy for gone and deletes what it left, unless told not to (felix/dataplane/linux/int_dataplane.go);
 * releases since 2026 delete kube-proxy's nftables tables, too. Where the kernel has no eBPF it takes that mode for off (felix/daemon/daemon.go).
 */
function felixDeletesChains({ felix, ebpf, kubeProxyHere }: NodeFacts, { failing, subjects }: Symptoms): boolean {
  if (felix?.kind !== 'settings' || !deletes(felix.settings) || ebpf === false) return false;
  // Who complains is there, with a Pod or without: in k3s kube-proxy has none.
  if (failing !== 'kube-proxy' && !(failing === 'unknown' && kubeProxyHere === true)) return false;
  const chains = subjects.filter((subject) => subject.includes('KUBE-'));
  return chains.length === 0 || chains.some((chain) => deletedByFelix.test(chain));
}

function deletes({ bpfEnabled, bpfKubeProxyIptablesCleanupEnabled }: FelixSettings): boolean {
  return bpfEnabled === true && bpfKubeProxyIptablesCleanupEnabled !== false;
}

/**
 * The FelixConfiguration in which a patch of the cleanup, or of `bpfEnabled`, holds for this node: the node's own goes over
 * `default`, so what it says of either hides what `default` says. It goes into a command: no name that is none, or that leaves no room.
 */
export function objectToPatch({ bpfFrom, cleanupFrom }: FelixSettings): string {
  const own = [cleanupFrom, bpfFrom].find((name) => name?.startsWith('node.'));
  return own !== undefined && isSubdomain(own) && own.length <= 80 ? own : 'default';
}

/** Not KUBE-MARK-MASQ and its like, KUBE-SVL- or KUBE-EXT- (felix/rules/rule_defs.go). */
const deletedByFelix = /KUBE-(?:FORWARD|SERVICES|EXTERNAL-SERVICES|NODEPORTS|SVC-|SEP-|FW-|XLB-)/;

function isOnce({ first, last }: Symptoms): boolean {
  return last - first <= onceWithin;
}

function firewallBeganWith({ firewallDropsSince }: NodeFacts, { first }: Symptoms): boolean {
  return firewallDropsSince !== undefined && Math.abs(firewallDropsSince - first) <= reloadWithin;
}

/** The backends of iptables that kube-proxy and felix use, where they differ. */
function mixedBackends({ backends, felix }: NodeFacts): { kubeProxy: string; felix: string } | undefined {
  const kubeProxy = backends['kube-proxy'];
  const felixs = backends.felix ?? (felix?.kind === 'settings' ? configuredBackend(felix.settings) : undefined);
  if (kubeProxy === undefined || felixs === undefined || kubeProxy === felixs) return undefined;
  return { kubeProxy, felix: felixs };
}

/** `Auto`, the default, is undefined: felix takes what kubelet seems to use. With nftables of its own it needs no iptables. */
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

type Hinted = Pick<IncidentDetails, 'code' | 'diagnosis' | 'facts'>;

const hintLimit = 2;

/** What else to know: at most two sentences of at most 160 bytes, most important first. */
export function hints(details: Hinted): string[] {
  return [uncheckedConflict(details), hiddenWarnings(details), bothBackends(details)]
    .filter((hint) => hint !== undefined)
    .slice(0, hintLimit);
}

/** Only where it would have been looked for. */
function uncheckedConflict({ code, diagnosis, facts: { felix } }: Hinted): string | undefined {
  if (felix?.kind !== 'unreadable' || diagnosis !== code || !chainsGone.has(code)) return undefined;
  return felix.reason === 'forbidden'
    ? 'Whether felix deletes the chains is not known: this agent lacks the right to get felixconfigurations.'
    : 'Whether felix deletes the chains is not known: FelixConfiguration could not be read.';
}

/** Severities above the warnings in which felix tells that it could not write its rules, or that somebody changed them. */
const severitiesAboveWarning = new Set(['error', 'fatal', 'panic', 'none']);

function hiddenWarnings({ code, facts: { felix } }: Hinted): string | undefined {
  if (felix?.kind !== 'settings' || !/^KN[12]/.test(code)) return undefined;
  const { logSeverityScreen = '' } = felix.settings;
  if (!severitiesAboveWarning.has(logSeverityScreen.toLowerCase())) return undefined;
  return `FelixConfiguration has logSeverityScreen ${logSeverityScreen}: what felix warns of its rules is not in its log.`;
}

function bothBackends({ code, diagnosis, facts }: Hinted): string | undefined {
  const mixed = diagnosis === 'KN110' || !/^KN[12]/.test(code) ? undefined : mixedBackends(facts);
  if (mixed === undefined) return undefined;
  return `kube-proxy uses iptables ${mixed.kubeProxy} and felix ${mixed.felix} on this node: neither sees the rules of the other.`;
}
