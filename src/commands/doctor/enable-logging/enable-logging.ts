/** `--enable-logging`: prints how to make this cluster log dropped packets, how to undo that, and what it costs. Changes nothing itself. */
import type { Api } from '../api.ts';
import { calicoRecipe } from './calico-recipe.ts';
import { detectPlugIns, type Seen, type Recipe, type PlugIn } from './detect.ts';
import { documentAt } from '../../../config/docs-url.ts';
import { printable } from '../../../platform/printable.ts';
import { jsonText } from '../../terminal.ts';

const verdicts: Readonly<Record<Recipe['works'], string>> = {
  switch: 'works after these steps',
  ready: 'works',
  no: 'does not work',
};

/** Returns the exit status: 0 if a plug-in can log. */
export async function enableLogging(
  api: Api,
  node: string,
  output: 'text' | 'json',
  out: (text: string) => void,
): Promise<0 | 1> {
  const seen = await detectPlugIns(api, node);
  const recipes = recipesFor(seen);
  const obstacles = api.unusable === undefined ? seen.obstacles : [api.unusable];
  if (output === 'json') {
    const plugIns = recipes.map((recipe) => ({ ...recipe, page: documentAt(recipe.page) }));
    out(jsonText({ enableLogging: { plugIns, obstacles } }, 2));
  } else out(textOf(recipes, seen, obstacles));
  return recipes.some(({ works }) => works !== 'no') ? 0 : 1;
}

function textOf(recipes: readonly Recipe[], seen: Seen, obstacles: readonly string[]): string {
  const parts = recipes.map(recipeText);
  if (recipes.length === 0)
    parts.push(
      `No network plug-in was recognised${obstacles.length > 0 ? '' : ' by its Pods'}. ${documentAt('docs/logging.md')} says how to find it on a node, and how rules of your own log.\n`,
    );
  if (seen.plugIns.length > 1)
    parts.push('Several plug-ins were recognised: follow the one that enforces your policies.\n');
  if (obstacles.length > 0) parts.push(`Not all could be looked at: ${printable(obstacles.join('; '))}\n`);
  return `${parts.join('\n')}\nNothing was changed.\n`;
}

function recipeText({ name, works, why, before = [], manifest, commands = [], undo = [], cost, page }: Recipe): string {
  const file = manifest === undefined ? [] : ['', `${manifest.file}:`, '', ...manifest.text.trimEnd().split('\n')];
  return `${[
    `${name}: ${verdicts[works]}. ${upperFirst(why)}.`,
    ...section(works === 'no' ? 'Instead' : 'Before', before),
    ...file,
    ...section('Run', commands),
    ...section('Undo', undo),
    ...section('Cost', cost === undefined ? [] : [cost]),
    '',
    `More: ${documentAt(page)}`,
  ]
    .map(printable)
    .join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function upperFirst(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
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
