const tables: { placeholders: (readonly [what: string, value: string])[] } = {
  // Values for the words in capitals in the documents; the first row that fits is used.
  placeholders: [
    ['API_SERVER:6443', '127.0.0.1:$API_PORT'],
    ['ADDRESS:PORT', '10.96.0.1:443'],
    ['grep ADDRESS', 'grep 10.96.0.1'],
    ['PORT/tcp', '31400/tcp'],
    ['PORT/udp', '31400/udp'],
    ['ip route get SOURCE', 'ip route get 10.244.3.9'],
    ['ip route get ADDRESS', 'ip route get 10.244.3.9'],
    ['POD_ADDRESS_ON_ANOTHER_NODE', '10.244.1.30'],
    ['POD_IP', '10.244.1.60'],
    ['PEER', '10.0.1.7'],
    ['TYPHA', '10.0.1.7'],
    ['NODE', 'node-b'],
    ['TWICE_AS_MANY', '524288'],
    ['NAMESPACE', 'kube-netfilter-tailer'],
    ['KUBE-PROXY', 'kube-proxy-9r5cn'],
    ['REGISTRY', 'registry.example'],
    ['VERB RESOURCE', 'list pods'],
    ['SOURCE', 'journal'],
    ['ipset destroy NAME', 'ipset destroy old'],
    ['NAME', 'own'],
    ['CHAIN handle N', 'FOREIGN handle $FOREIGN_HANDLE'],
    ['CHAIN', 'OWN-DROP'],
    ['check FILE', 'check settings.yaml'],
    ['delete -f log-denied.yaml', 'delete -f deploy/logging/calico/global-network-policy-crd.yaml'],
    ['apply -f log-denied.yaml', 'apply -f deploy/logging/calico/global-network-policy-crd.yaml'],
    ['apply -f FILE', 'apply -f deploy/logging/calico/network-policy.yaml'],
    [
      "'?LINE'?",
      "'kernel: my-drop: IN=eth0 OUT=cali0 SRC=203.0.113.9 DST=10.244.1.60 LEN=60 PROTO=UDP SPT=53 DPT=53 LEN=9'",
    ],
  ],
};
/**
 * Values for the words in capitals in the documents, in the cluster of samples/cluster.json and on the node of test/e2e/docs. The first row
 * that fits is used. `$…` is set there.
 */
export const placeholders: readonly (readonly [what: string, value: string])[] = tables.placeholders;

/** A Pod of each namespace that commands name; `default` is for commands without a namespace. */
const pods: Readonly<Record<string, string>> = {
  'kube-system': 'kube-proxy-9r5cn',
  'calico-system': 'calico-node-9fz4d',
  'kube-netfilter-tailer': 'kube-netfilter-tailer-4h7tz',
  default: 'netcheck',
};

/** Commands that are shown with a gap, and one way to fill it. */
export const elided: Readonly<Record<string, string>> = {
  'docker buildx build --platform linux/amd64,linux/arm64 …':
    'docker buildx build --platform linux/amd64,linux/arm64 --target plain .',
  'kubectl rollout restart daemonset/…':
    'kubectl -n kube-netfilter-tailer rollout restart daemonset/kube-netfilter-tailer',
};

/** Returns the command as it can be run. Shell variables with the name of a placeholder stay as they are. */
export function fill(text: string): string {
  let filled = elided[text] ?? text;
  const put = (what: string, value: string): void => {
    filled = filled.replaceAll(new RegExp(String.raw`(?<![$\w{-])(?:${what})(?![\w-]|=)`, 'g'), () => value);
  };
  for (const [what, value] of placeholders) put(what, value);
  const [, namespace = 'default'] = / -n ([\w-]+)/.exec(filled) ?? [];
  put('POD', pods[namespace] ?? 'no-pod-of-this-namespace');
  return filled.replaceAll(/(?<![\w/])\/tmp\//g, () => '$TMPDIR/');
}
