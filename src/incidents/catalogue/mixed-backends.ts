import type { FelixSettings, IncidentDetails, NodeFacts } from '../../model/incident.ts';
import type { CauseRow, HintDetails } from './cause.ts';
import { felixPatch, program, short, syncEvery, unreachable } from './texts.ts';

export const mixedBackends: CauseRow = {
  code: 'KN110',
  name: 'mixed-iptables-backends',
  title: 'Two backends of iptables on one node',
  reason: 'MixedIptablesBackends',
  overReason: 'IptablesBackendsAgree',
  retryInterval: syncEvery,
  explains: {
    codes: ['KN102', 'KN103', 'KN107', 'KN108', 'KN109', 'KN201', 'KN202', 'KN204'],
    when: (facts) => backendsOf(facts) !== undefined,
    hint: bothBackends,
  },
  what: (details, node) =>
    `Programs on ${node} write their rules into two backends of iptables that do not see each other; ${program(details)} fails over it.`,
  why(details) {
    const used = Object.entries(details.facts.backends).map(([name, backend]) => `${short(name, 20)} uses ${backend}`);
    return `${used.length > 0 ? `${used.slice(0, 4).join(', ')}. ` : ''}Both sets of rules apply to each packet, and one deletes or misses what the other made.`;
  },
  fix: (details) =>
    `Choose the backend of the host (iptables -V). For Calico, run: ${felixPatch('default', `"iptablesBackend":"${choice(details)}"`)} ` +
    'For kube-proxy, use its own image, which follows the host. Then reboot the node, so that the rules of the other are gone.',
  impact: unreachable,
};

/** What kube-proxy found on the host is what felix should use. */
function choice({ facts: { backends } }: IncidentDetails): string {
  if (backends['kube-proxy'] === 'legacy') return 'Legacy';
  return backends['kube-proxy'] === 'nf_tables' ? 'NFT' : 'Auto';
}

/** The backends of iptables that kube-proxy and felix use, where they differ. */
function backendsOf({ backends, felix }: NodeFacts): { kubeProxy: string; felix: string } | undefined {
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

function bothBackends({ code, diagnosis, facts }: HintDetails): string | undefined {
  const mixed = diagnosis === 'KN110' || !/^KN[12]/.test(code) ? undefined : backendsOf(facts);
  if (mixed === undefined) return undefined;
  return `kube-proxy uses iptables ${mixed.kubeProxy} and felix ${mixed.felix} on this node: neither sees the rules of the other.`;
}
