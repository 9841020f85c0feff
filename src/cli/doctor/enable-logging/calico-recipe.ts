/** How to make Calico log the packets that its policies deny. */
import type { Detection, Recipe, Version } from './detect.ts';

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
export function calicoRecipe(plugIn: 'calico' | 'canal', { calico }: Detection): Omit<Recipe, 'kernelDrops'> {
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
      cost: 'a line for each packet that meets the rule, also if another rule allows it, without a limit; lines that are not read in time are lost and counted',
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
        ? 'FelixConfiguration could not be read: with bpfEnabled nothing would be logged, and the undo removes these fields of default even if they are set now'
        : 'a Kubernetes NetworkPolicy cannot log; a policy of Calico behind it can',
    before: [
      'Put each rule with "action: Log" right before a Deny; otherwise allowed packets count as dropped. To see these rules: kubectl get networkpolicies.crd.projectcalico.org,globalnetworkpolicies.crd.projectcalico.org -A -o yaml | grep -A1 "action: Log"',
      selects,
      ...calico.hiding.map((object) => `FelixConfiguration ${object} has its own logPrefix: patch it as well`),
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
