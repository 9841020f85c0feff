/** Prints how to have dropped packets logged with each network plug-in. Nothing is carried out. */
import type { PlugIn, Seen } from './detect.ts';

export interface Recipe {
  /** `Calico 3.29.1` */
  name: string;
  /** `switch`: after what is in `commands`; `ready`: nothing is to be done on the plug-in's side; `no`: it cannot. */
  works: 'switch' | 'ready' | 'no';
  /** One sentence without an end. */
  why: string;
  before?: readonly string[];
  commands?: readonly string[];
  /** A file that `commands` apply. */
  manifest?: { file: string; text: string };
  undo?: readonly string[];
  cost?: string;
  page: `docs/${string}`;
}

const recipes: Readonly<Record<Exclude<PlugIn, 'calico' | 'canal' | 'aws-vpc-cni'>, Recipe>> = {
  cilium: {
    name: 'Cilium',
    works: 'switch',
    why: 'its agent writes flows that it drops to a file of the node, once Hubble exports them',
    before: [
      'The agents of Cilium restart once, node by node; connections stay. On AKS the switch is another one: docs/networks/aks.md.',
      'Let the agent read the file: mount /run/cilium/hubble read-only, and SOURCES=auto,file:/run/cilium/hubble/events.log,containers',
    ],
    commands: [
      `helm -n kube-system upgrade cilium cilium/cilium --version VERSION --reuse-values --set hubble.enabled=true --set hubble.export.static.enabled=true --set-json 'hubble.export.static.allowList=[{"verdict":["DROPPED","ERROR"]}]'`,
    ],
    undo: [
      'helm -n kube-system upgrade cilium cilium/cilium --version VERSION --reuse-values --set hubble.export.static.enabled=false',
    ],
    cost: 'about 1 KB for each line, two lines for each packet that a policy drops, without a limit; at most 60 MB on disk, which Cilium rotates',
    page: 'docs/logging/cilium.md',
  },
  'gke-dataplane-v2': {
    name: 'GKE Dataplane V2 (Cilium)',
    works: 'switch',
    why: "GKE's network policy logging writes what policies deny to a file of the node",
    before: [
      'The base mounts the file: SOURCES=auto,file:/var/log/network/policy_action.log,containers. On Autopilot, take the overlay gke-autopilot, which reads it.',
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
  'kube-network-policies': {
    name: 'kube-network-policies',
    works: 'ready',
    why: 'it writes each packet that it judges into the log of its container, at --v=2 as its manifests start it',
    page: 'docs/logging/kube-network-policies.md',
  },
  kindnet: {
    name: 'kindnet',
    works: 'switch',
    why: 'it writes each packet that it judges into the log of its container, at -v=2',
    before: [
      'Its own manifest has --v=2. In kind it has not: the command is for kind with images of before 2026-05-27; newer ones log no addresses.',
    ],
    commands: [kindnetArguments('{"op":"add","path":"/spec/template/spec/containers/0/args","value":["-v=2"]}')],
    undo: [kindnetArguments('{"op":"remove","path":"/spec/template/spec/containers/0/args"}')],
    cost: 'four to six lines for each new connection, admitted ones too; kindnet restarts on each node',
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

/** Recipes stand in the order in which the plug-ins were seen. */
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

function kindnetArguments(operation: string): string {
  return `kubectl -n kube-system patch daemonset kindnet --type=json --patch='[${operation}]'`;
}

function updateAddOn(enabled: boolean): string {
  const values = JSON.stringify({ nodeAgent: { enablePolicyEventLogs: String(enabled) } });
  return `aws eks update-addon --cluster-name CLUSTER --addon-name vpc-cni --resolve-conflicts PRESERVE --configuration-values '${values}'`;
}

function networkLogging(enabled: boolean): string {
  const patch = JSON.stringify({ spec: { cluster: { deny: { log: enabled, delegate: false } } } });
  return `kubectl patch networklogging default --type=merge --patch='${patch}'`;
}

type Version = NonNullable<Seen['calico']['version']>;

/** The first versions whose lines name the policy and whose LOG rules have a limit (docs/logging/calico.md). */
function namesPolicies([major, minor, patch]: Version): boolean {
  if (major !== 3 || minor > 31) return major > 3 || minor > 31;
  return (minor === 31 && patch >= 4) || (minor === 30 && patch >= 6);
}

/** A test holds this against deploy/logging/calico. */
function calicoRecipe(plugIn: 'calico' | 'canal', { calico }: Seen): Recipe {
  const name = plugIn === 'canal' ? 'Canal (policies by Calico)' : 'Calico';
  const page = plugIn === 'canal' ? 'docs/networks/canal.md' : 'docs/logging/calico.md';
  if (calico.bpf === true)
    return {
      name: `${name} with eBPF`,
      works: 'no',
      why: 'felix drops in eBPF, and its action Log writes to the tracing pipe, which this program does not read',
      page,
    };
  const { version, isServed } = calico;
  const shown = version === undefined ? 'of an unknown version' : version.join('.');
  const isNew = version !== undefined && namesPolicies(version);
  const spec = isNew
    ? { logPrefix: 'calico-drop %k %p', logActionRateLimit: '10/second', logActionRateLimitBurst: 50 }
    : { logPrefix: 'calico-drop' };
  // Objects of the store itself have the tier in their names before 3.32.
  const tier = isServed || (version !== undefined && version[0] === 3 && version[1] >= 32) ? '' : 'default.';
  const policies = [`${tier}deny-in`, `${tier}deny-out`];
  // Null takes a field away. A prefix that Calico would not take was not read from it.
  const earlier = /^[\w%: /-]{1,128}$/.test(calico.logPrefix ?? '') ? calico.logPrefix : null;
  const before = { spec: { ...Object.fromEntries(Object.keys(spec).map((key) => [key, null])), logPrefix: earlier } };
  return {
    name: `${name} ${shown}`,
    works: 'switch',
    why:
      calico.bpf === undefined
        ? 'FelixConfiguration could not be read: with bpfEnabled nothing would be logged'
        : 'a Kubernetes NetworkPolicy cannot log; a policy of Calico behind it can',
    before: [
      'Each rule with "action: Log" must stand before a Deny, or its packets count as dropped. See: kubectl get networkpolicies.crd.projectcalico.org,globalnetworkpolicies.crd.projectcalico.org -A -o yaml | grep -A1 "action: Log"',
      'The policy denies in every namespace with the label: label only namespaces in which a policy selects all Pods in that direction (podSelector: {}).',
    ],
    commands: [
      `kubectl patch felixconfiguration default --type=merge --patch='${JSON.stringify({ spec })}'`,
      'kubectl apply -f log-denied.yaml',
      'kubectl label namespace NAMESPACE log-denied-ingress= log-denied-egress=',
    ],
    manifest: {
      file: 'log-denied.yaml',
      text: policies.map((policy, i) => manifestOf(policy, i === 0 ? 'ingress' : 'egress', isServed)).join('---\n'),
    },
    undo: [
      'kubectl label namespace NAMESPACE log-denied-ingress- log-denied-egress-',
      'kubectl delete -f log-denied.yaml',
      `kubectl patch felixconfiguration default --type=merge --patch='${JSON.stringify(before)}'`,
    ],
    cost: isNew
      ? 'at most 10 lines a second for each LOG rule and node, about 3 µs each; felix restarts once, its rules stay'
      : 'no limit in this version: a flood of 100,000 packets a second takes a third of a core and 25 MB of log a second; felix restarts once, its rules stay',
    page,
  };
}

function manifestOf(name: string, direction: 'ingress' | 'egress', isServed: boolean): string {
  return `apiVersion: ${isServed ? 'projectcalico.org/v3' : 'crd.projectcalico.org/v1'}
kind: GlobalNetworkPolicy
metadata:
  name: ${name}
spec:
  tier: default
  order: 10000
  namespaceSelector: has(log-denied-${direction})
  types: [${direction === 'ingress' ? 'Ingress' : 'Egress'}]
  ${direction}:
    - action: Log
    - action: Deny
`;
}
