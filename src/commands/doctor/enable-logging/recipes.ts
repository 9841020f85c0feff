import { calicoRecipe } from './calico.ts';
import type { PlugIn, Seen } from './detect.ts';
import type { Recipe } from './recipe.ts';

const recipes: Readonly<Record<Exclude<PlugIn, 'calico' | 'canal' | 'aws-vpc-cni'>, Recipe>> = {
  cilium: {
    name: 'Cilium',
    works: 'no',
    why: 'it drops in eBPF and logs nothing to the kernel',
    before: ['Its own tool shows drops: hubble observe --verdict DROPPED'],
    page: 'docs/logging/cilium.md',
  },
  'gke-dataplane-v2': {
    name: 'GKE Dataplane V2 (Cilium)',
    works: 'no',
    why: 'it drops in eBPF and logs nothing to the kernel',
    before: [
      "GKE's own network policy logging writes /var/log/network/policy_action.log on the node, in a format that this program does not read yet.",
    ],
    page: 'docs/networks/gke.md',
  },
  antrea: {
    name: 'Antrea',
    works: 'switch',
    why: 'policies log where it is turned on, to a file of the node',
    commands: ['kubectl annotate namespace NAMESPACE networkpolicy.antrea.io/enable-logging=true'],
    before: ['Let the agent read the file: SOURCES=auto,file:/var/log/antrea/networkpolicy/np.log,containers'],
    undo: ['kubectl annotate namespace NAMESPACE networkpolicy.antrea.io/enable-logging-'],
    cost: 'Antrea joins the packets of one second; the file is rotated by Antrea',
    page: 'docs/logging/antrea.md',
  },
  'ovn-kubernetes': {
    name: 'OVN-Kubernetes',
    works: 'switch',
    why: 'policies log where it is turned on, to a file of the node',
    commands: [`kubectl annotate namespace NAMESPACE k8s.ovn.org/acl-logging='{"deny": "info"}'`],
    before: ['Let the agent read the file: SOURCES=auto,file:/var/log/ovn/acl-audit-log.log,containers'],
    undo: ['kubectl annotate namespace NAMESPACE k8s.ovn.org/acl-logging-'],
    cost: 'at most 20 lines a second on a node, as policyAuditConfig.rateLimit has it',
    page: 'docs/logging/ovn-kubernetes.md',
  },
  'kube-router': nflog('kube-router', 'deploy/logging/ulogd-kube-router.conf', 'docs/logging/k3s-kube-router.md'),
  k3s: nflog('k3s or RKE2, with its own network policies', 'deploy/logging/ulogd-k3s.conf', 'docs/networks/k3s.md'),
  'azure-npm': {
    name: 'Azure Network Policy Manager',
    works: 'no',
    why: 'its chains AZURE-NPM drop without logging, and a LOG rule in them is gone after its next sync',
    page: 'docs/networks/aks.md',
  },
  kindnet: {
    name: 'kindnet',
    works: 'no',
    why: 'it drops what policies refuse in a program of its own, by NFQUEUE, and logs nothing to the kernel',
    page: 'docs/networks/kind.md',
  },
  flannel: {
    name: 'flannel',
    works: 'no',
    why: 'it enforces no network policies; only rules of the host drop packets',
    page: 'docs/logging/iptables.md',
  },
  weave: {
    name: 'Weave Net',
    works: 'ready',
    why: 'its policy controller logs what it blocks, through ulogd',
    page: 'docs/formats.md',
  },
};

/** What is to be done for each plug-in that was seen, in the order of the table of agents. */
export function recipesFor(seen: Seen): Recipe[] {
  return seen.plugIns.map((plugIn) => {
    if (plugIn === 'calico' || plugIn === 'canal') return calicoRecipe(plugIn, seen);
    return plugIn === 'aws-vpc-cni' ? awsRecipe(seen) : recipes[plugIn];
  });
}

function awsRecipe({ hasAwsPolicyAgent }: Seen): Recipe {
  const page = 'docs/networks/eks.md';
  if (!hasAwsPolicyAgent)
    return {
      name: 'AWS VPC CNI',
      works: 'no',
      why: 'its network policy agent does not run: it enforces no policies',
      page,
    };
  return {
    name: 'AWS VPC CNI with its network policy agent',
    works: 'switch',
    why: 'its policy agent logs where it is turned on, to a file of the node',
    before: [
      'The values replace those that the add-on has: aws eks describe-addon --cluster-name CLUSTER --addon-name vpc-cni shows them; write both together.',
      'The overlay eks reads the file; any other: SOURCES=auto,file:/var/log/aws-routed-eni/network-policy-agent.log,containers',
    ],
    commands: [updateAddOn(true)],
    undo: [updateAddOn(false)],
    cost: 'a line for each new flow, allowed ones too, without a limit; aws-node restarts on each node',
    page,
  };
}

function nflog(name: string, file: string, page: Recipe['page']): Recipe {
  return {
    name,
    works: 'switch',
    why: 'it logs to NFLOG group 100, which ulogd2 writes to a file',
    before: [`On each node, with ${file} as /etc/ulogd.conf. On some distributions the packages have other names.`],
    commands: ['apt-get install ulogd2 ulogd2-json', 'systemctl restart ulogd2'],
    undo: ['systemctl disable --now ulogd2'],
    cost: '10 lines a minute for each Pod or policy; a daemon on each node',
    page,
  };
}

function updateAddOn(enabled: boolean): string {
  const values = JSON.stringify({ nodeAgent: { enablePolicyEventLogs: String(enabled) } });
  return `aws eks update-addon --cluster-name CLUSTER --addon-name vpc-cni --resolve-conflicts PRESERVE --configuration-values '${values}'`;
}
