/** How to make each network plug-in log the packets that it drops, how to undo that, and what it costs. */
import type { PlugIn, Recipe, Seen, Version } from './detect.ts';

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
    cost: 'six to nine records for each new connection, admitted ones too, 60 µs of CPU for them; kindnet restarts on each node',
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

function isSince([major, minor, patch]: Version, ...[a, b, c]: Version): boolean {
  return (major - a || minor - b || patch - c) >= 0;
}

/** Returns whether the lines of this version name the policy, and its LOG rules have a limit (docs/logging/calico.md). */
function namesPolicies(version: Version): boolean {
  return isSince(version, 3, 31, 4) || (isSince(version, 3, 30, 6) && !isSince(version, 3, 31, 0));
}

const flowsInstead =
  'Or without a rule that logs: the component calico-flows, and flowLogsLocalReporter: Enabled (docs/logging/calico.md#flows)';

/** A test compares it with deploy/logging/calico. */
function calicoRecipe(plugIn: 'calico' | 'canal', { calico }: Seen): Recipe {
  const name = plugIn === 'canal' ? 'Canal (policies by Calico)' : 'Calico';
  const page = plugIn === 'canal' ? 'docs/networks/canal.md' : 'docs/logging/calico.md';
  const { version, isServed } = calico;
  const shown = version === undefined ? 'of an unknown version' : version.join('.');
  // Before 3.32, names of stored objects begin with the tier.
  const tier = isServed || (version !== undefined && isSince(version, 3, 32, 0)) ? '' : 'default.';
  const policies = [`${tier}deny-in`, `${tier}deny-out`];
  const manifest = {
    file: 'log-denied.yaml',
    text: policies.map((policy, i) => manifestOf(policy, i === 0 ? 'ingress' : 'egress', isServed)).join('---\n'),
  };
  // Since this version Felix sends its flows to a socket of the node.
  const instead = version !== undefined && isSince(version, 3, 30, 3) ? [flowsInstead] : [];
  const selects =
    'The policy denies in every namespace with the label: label only namespaces in which a policy selects all Pods in that direction (podSelector: {}).';
  const apply = [
    'kubectl apply -f log-denied.yaml',
    'kubectl label namespace NAMESPACE log-denied-ingress= log-denied-egress=',
  ];
  const undo = [
    'kubectl label namespace NAMESPACE log-denied-ingress- log-denied-egress-',
    'kubectl delete -f log-denied.yaml',
  ];
  if (calico.bpf === true)
    return {
      name: `${name} ${shown} with eBPF`,
      works: 'switch',
      why: 'a policy of Calico with "action: Log" has each packet printed with its verdict, to a trace of the kernel',
      before: [
        "Calico 3.30 (or 3.29.1) and Linux 5.16 or newer. Let the agent read the trace: components/bpf-trace, or the node's /sys/kernel/tracing mounted and SOURCES=auto,bpf-trace:DIR,containers",
        selects,
        ...instead,
      ],
      commands: apply,
      manifest,
      undo,
      cost: 'no limit: a line for each packet that meets the rule, allowed ones of other rules too; what is not read in time is lost and counted',
      page,
    };
  const isNew = version !== undefined && namesPolicies(version);
  const spec = isNew
    ? { logPrefix: 'calico-drop %k %p', logActionRateLimit: '10/second', logActionRateLimitBurst: 50 }
    : { logPrefix: 'calico-drop' };
  // The patch removes a field that is null.
  const earlierSpec = { spec: Object.fromEntries(Object.keys(spec).map((key) => [key, calico.earlier[key] ?? null])) };
  return {
    name: `${name} ${shown}`,
    works: 'switch',
    why:
      calico.bpf === undefined
        ? 'FelixConfiguration could not be read: with bpfEnabled nothing would be logged, and the undo removes what default has of it'
        : 'a Kubernetes NetworkPolicy cannot log; a policy of Calico behind it can',
    before: [
      'Each rule with "action: Log" must stand before a Deny, or its packets count as dropped. See: kubectl get networkpolicies.crd.projectcalico.org,globalnetworkpolicies.crd.projectcalico.org -A -o yaml | grep -A1 "action: Log"',
      selects,
      ...calico.hiding.map((object) => `FelixConfiguration ${object} has a logPrefix of its own: patch it, too`),
      ...instead,
    ],
    commands: [`kubectl patch felixconfiguration default --type=merge --patch='${JSON.stringify({ spec })}'`, ...apply],
    manifest,
    undo: [...undo, `kubectl patch felixconfiguration default --type=merge --patch='${JSON.stringify(earlierSpec)}'`],
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
