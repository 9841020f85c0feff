/** How to make each network plug-in log the packets that it drops, how to undo that, and what it costs. */
import { calicoRecipe } from './calico-recipe.ts';
import type { Detection, PlugIn, Recipe } from './detect.ts';

/** A recipe without the field that `seenByKernelDrops` adds. */
type LoggingRecipe = Omit<Recipe, 'kernelDrops'>;

/**
 * Whether a plug-in drops by netfilter or by eBPF programs of traffic control. The others drop by NFQUEUE or in Open vSwitch, for which the
 * kernel gives no reason or one that makes no Event, or they drop nothing. docs/kernel-drops.md has the same table, and a test compares them.
 */
export const seenByKernelDrops: Readonly<Record<PlugIn, boolean>> = {
  calico: true,
  canal: true,
  cilium: true,
  'gke-dataplane-v2': true,
  'aws-vpc-cni': true,
  antrea: false,
  'ovn-kubernetes': false,
  'kube-router': true,
  k3s: true,
  'azure-npm': true,
  'kube-network-policies': false,
  kindnet: false,
  flannel: false,
  weave: true,
};

const recipes: Readonly<Record<Exclude<PlugIn, 'calico' | 'canal' | 'aws-vpc-cni'>, LoggingRecipe>> = {
  cilium: {
    name: 'Cilium',
    works: 'switch',
    why: 'its agent writes flows that it drops to a file of the node, once Hubble exports them',
    before: [
      "VERSION is the installed version of the chart: helm -n kube-system list. Cilium's agents restart, node by node (rollOutCiliumPods); connections stay. AKS has its own switch: docs/networks/aks.md.",
      'Let the agent read the file: mount /run/cilium/hubble read-only, and SOURCES=auto,file:/run/cilium/hubble/events.log,containers',
    ],
    commands: [
      String.raw`${upgradeCilium(true)} --set hubble.enabled=true --set-json 'hubble.export.static.allowList=["{\"verdict\":[\"DROPPED\",\"ERROR\"]}"]'`,
    ],
    undo: [upgradeCilium(false)],
    cost: 'about 1 KB for each line, two lines for each packet that a policy drops, without a limit; at most 60 MB on disk, which Cilium rotates',
    page: 'docs/logging/cilium.md',
  },
  'gke-dataplane-v2': {
    name: 'GKE Dataplane V2 (Cilium)',
    works: 'switch',
    why: "GKE's network policy logging writes what policies deny to a file of the node",
    before: [
      'The agent already mounts the folder of the file: set SOURCES=auto,file:/var/log/network/policy_action.log,containers. On Autopilot, use the overlay gke-autopilot, which reads it.',
    ],
    commands: [networkLogging(true)],
    undo: [networkLogging(false)],
    cost: 'at most 500 lines a second on a node, denies of five seconds in one, 60 MB on disk; GKE also sends each to Cloud Logging, which may cost money',
    page: 'docs/networks/gke.md',
  },
  antrea: {
    name: 'Antrea',
    works: 'switch',
    why: 'policies log where it is turned on, to a file of the node',
    commands: ['kubectl annotate namespace NAMESPACE networkpolicy.antrea.io/enable-logging=true'],
    before: [
      'Antrea 1.13 or newer: in older releases, logging can make it drop packets.',
      'Let the agent read the file: SOURCES=auto,file:/var/log/antrea/networkpolicy/np.log,containers',
    ],
    undo: ['kubectl annotate namespace NAMESPACE networkpolicy.antrea.io/enable-logging-'],
    cost: 'Antrea joins the packets of one second, and rotates the file at 500 MB, keeping three',
    page: 'docs/logging/antrea.md',
  },
  'ovn-kubernetes': {
    name: 'OVN-Kubernetes',
    works: 'switch',
    why: 'policies log where it is turned on, to a file of the node',
    commands: [`kubectl annotate namespace NAMESPACE k8s.ovn.org/acl-logging='{"deny": "info"}'`],
    before: ['Let the agent read the file: SOURCES=auto,file:/var/log/ovn/acl-audit-log.log,containers'],
    undo: ['kubectl annotate namespace NAMESPACE k8s.ovn.org/acl-logging-'],
    cost: 'at most 20 lines a second on a node for each Namespace and direction (policyAuditConfig.rateLimit)',
    page: 'docs/logging/ovn-kubernetes.md',
  },
  'kube-router': nflog('kube-router', 'deploy/logging/ulogd-kube-router.conf', 'docs/logging/k3s-kube-router.md'),
  k3s: nflog('k3s or RKE2, with its own network policies', 'deploy/logging/ulogd-k3s.conf', 'docs/networks/k3s.md'),
  'azure-npm': {
    name: 'Azure Network Policy Manager',
    works: 'no',
    why: 'its chains AZURE-NPM drop without logging, and its next sync removes a LOG rule from them',
    page: 'docs/networks/aks.md',
  },
  'kube-network-policies': {
    name: 'kube-network-policies',
    works: 'ready',
    why: 'at --v=2, which its manifests set, it logs each packet that it judges in its container',
    page: 'docs/logging/kube-network-policies.md',
  },
  kindnet: {
    name: 'kindnet',
    works: 'switch',
    why: 'at -v=2, it logs each packet that it judges in its container',
    before: [
      'Its own manifest sets --v=2. In kind, use the command with node images built from 2025-05 to 2026-05-27; newer ones log no addresses.',
    ],
    commands: [kindnetArguments('{"op":"add","path":"/spec/template/spec/containers/0/args","value":["-v=2"]}')],
    undo: [kindnetArguments('{"op":"remove","path":"/spec/template/spec/containers/0/args"}')],
    cost: 'six to nine records for each new connection, including allowed ones, and 60 µs of CPU for them; kindnet restarts on each node',
    page: 'docs/logging/kube-network-policies.md',
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

export function recipesFor(seen: Detection): Recipe[] {
  return seen.plugIns.map((plugIn) => {
    // Without its policy agent, AWS' plug-in drops nothing.
    const enforces = plugIn !== 'aws-vpc-cni' || seen.hasAwsPolicyAgent;
    return { ...recipeFor(plugIn, seen), kernelDrops: enforces && seenByKernelDrops[plugIn] };
  });
}

function recipeFor(plugIn: PlugIn, seen: Detection): LoggingRecipe {
  if (plugIn === 'calico' || plugIn === 'canal') return calicoRecipe(plugIn, seen);
  return plugIn === 'aws-vpc-cni' ? awsRecipe(seen) : recipes[plugIn];
}

function awsRecipe({ hasAwsPolicyAgent }: Detection): LoggingRecipe {
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
    why: 'its policy agent logs to a file of the node once the logging is turned on',
    before: [
      'These values replace those of the add-on, and without enableNetworkPolicy nothing is enforced. Add the other values that this command shows: aws eks describe-addon --cluster-name CLUSTER --addon-name vpc-cni --query addon.configurationValues',
      'EKS Auto Mode has no add-on: see docs/networks/eks.md#auto-mode.',
      'The overlay eks reads the file. With any other overlay, set SOURCES=auto,file:/var/log/aws-routed-eni/network-policy-agent.log,containers',
    ],
    commands: [updateAddOn(true)],
    undo: [updateAddOn(false)],
    cost: 'AWS asks for one more vCPU on each node. A line for each denied packet, without a limit (agents before 1.2.2 also log allowed connections); aws-node restarts on each node',
    page,
  };
}

function nflog(name: string, file: string, page: Recipe['page']): LoggingRecipe {
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

/** Without rollOutCiliumPods the chart changes only a ConfigMap, which agents read when they start. */
function upgradeCilium(exports: boolean): string {
  return `helm -n kube-system upgrade cilium cilium/cilium --version VERSION --reuse-values --set rollOutCiliumPods=true --set hubble.export.static.enabled=${exports}`;
}

function kindnetArguments(operation: string): string {
  return `kubectl -n kube-system patch daemonset kindnet --type=json --patch='[${operation}]'`;
}

function updateAddOn(enabled: boolean): string {
  // The level `info` leaves out allowed flows, which the agent logs at `debug`, its default.
  const nodeAgent = enabled ? { enablePolicyEventLogs: 'true', logLevel: 'info' } : { enablePolicyEventLogs: 'false' };
  const values = JSON.stringify({ enableNetworkPolicy: 'true', nodeAgent });
  return `aws eks update-addon --cluster-name CLUSTER --addon-name vpc-cni --resolve-conflicts PRESERVE --configuration-values '${values}'`;
}

function networkLogging(enabled: boolean): string {
  const patch = JSON.stringify({ spec: { cluster: { deny: { log: enabled, delegate: false } } } });
  return `kubectl patch networklogging default --type=merge --patch='${patch}'`;
}
