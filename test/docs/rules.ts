import type { Command } from './commands.ts';
import { fill } from './fillings.ts';

/**
 * - `run`: runs to its end, on the node of test/e2e/docs.
 * - `set`: sets a shell variable for the commands after it in its document.
 * - `start`: runs while the later commands of its document run, and must end with 0 when it is asked to.
 * - `stop`: never ends by itself. It is interrupted after a second, and must not have complained about its arguments.
 * - `help`: a command that is only named, without its arguments. It must have a help text.
 * - `leave`: is not run, for the given reason.
 */
export type Way = 'run' | 'set' | 'start' | 'stop' | 'help' | 'leave';

export interface Rule {
  readonly name: string;
  /** Matches the filled command. */
  readonly takes: RegExp;
  readonly way: Way;
  /** Why it is not run. */
  readonly reason?: string;
}

/** Commands of the documents, in the form of the interfaces here. Patterns are JavaScript's. */
const tables: {
  rules: (Omit<Rule, 'takes'> & { takes: string })[];
  outcomes: (Omit<Outcome, 'prints'> & { prints?: string })[];
} = {
  // The first rule that matches a command applies.
  rules: [
    {
      name: 'steps of this project',
      takes: String.raw`^(?:\.ci\/run(?: [\w-]+)*|npm (?:test|run [\w:]+)(?: -- --(?:full|help|minutes \d+|project (?:cluster \S+|node))| -- [\w/]+ --sample \d+ --seed \d+)?|npm run (?:bench|update) -- \w+)$`,
      way: 'leave',
      reason:
        'they are what .ci/run runs, this test among them, or take long; test/docs/commands-fit.test.ts holds that each is there',
    },
    {
      name: 'a cluster of kind',
      takes: String.raw`^deploy/try-on-kind\.sh(?: --delete)?$`,
      way: 'leave',
      reason: "it wants kind's node image; test/e2e/cluster runs it with kind and Calico played",
    },
    {
      name: 'proofs of arm64 and of a bare machine',
      takes: String.raw`^scripts\/(?:arm64|bare)-proof\.sh(?: --e2e)?$`,
      way: 'leave',
      reason: 'they install packages and take minutes; CONTRIBUTING.md says when they are run',
    },
    {
      name: "other projects' programs",
      takes:
        '(?:^|; | -- )(?:apt-get|aws|az|birdcl|calicoctl|chronyc|docker|firewall-cmd|helm|ipvsadm|kubeadm|lsmod|modprobe|systemctl|timedatectl|ufw) ',
      way: 'leave',
      reason:
        "they want a daemon, a module of the kernel or a cluster of their own; test/e2e/helm runs this project's commands of helm, and test/e2e/cluster those of docker",
    },
    {
      name: 'what a release has',
      takes: String.raw`^(?:npx |tar -xzf |kube-netfilter-tailer-0\.1\.0-linux-x64/|cosign |sha256sum )`,
      way: 'leave',
      reason: 'nothing is released yet; test/e2e/release tries what a release will have',
    },
    {
      name: "the reader's shell and home folder",
      takes: String.raw`^(?:source <|kube-netfilter-tailer completion |ln -s |npm\sci )`,
      way: 'leave',
      reason:
        'they change what is no part of the checkout; test/e2e/completion.test.ts tries the completion, test/e2e/kubectl-plugin.test.ts the built plug-in',
    },
    {
      name: 'files of an audit',
      takes: "^(?:zcat -f |kube-netfilter-tailer report 'audit/)",
      way: 'leave',
      reason:
        "the files and programs are the reader's; test/e2e/audit-engines.test.ts sends the same rows to an engine",
    },
    {
      name: 'the plug-in and its port',
      takes: String.raw`^kubectl (?:drops(?: |$)|get --raw \S+:9092/proxy/drops)`,
      way: 'leave',
      reason: 'no agent is in this cluster; test/e2e/kubectl-plugin.test.ts runs the plug-in',
    },
    {
      name: 'Pods that run, on a kernel with event probes',
      takes: 'first-drop',
      way: 'leave',
      reason: 'no kubelet is in this cluster; test/e2e/kernel-drops drops such packets on real kernels',
    },
    { name: 'variables', takes: String.raw`^[A-Z_]+=\S*(?:$|\()`, way: 'set' },
    {
      name: 'names of commands',
      takes: String.raw`^(?:kubectl (?:describe|exec|patch|create -f -|logs|get events|describe daemonset)|kubectl -n \S+ logs|kube-netfilter-tailer (?:run|config check|replay --pods -)|nft -j)$`,
      way: 'help',
    },
    {
      name: 'parts of commands',
      takes: '^(?:kubectl -o json|kubectl logs --prefix|journalctl -o export|nft delete table)$',
      way: 'leave',
      reason: 'the sentence names an option or the beginning of a command, and help is had only for the whole',
    },
    {
      name: 'objects of the Tigera operator',
      takes: '^kubectl (?:get|patch) installation default(?: |$)',
      way: 'leave',
      reason:
        'its CustomResourceDefinition is not in this cluster; the fields are those of api/v1/installation_types.go of the operator, read in August 2026',
    },
    { name: 'the agent', takes: '^npm start --silent -- run --node ', way: 'start' },
    { name: 'until it is interrupted', takes: '^(?:tcpdump |nft monitor(?: |$)|journalctl --follow$)', way: 'stop' },
    { name: 'this program', takes: '^(?:kube-netfilter-tailer|npm start|node|ssh)(?: |$)', way: 'run' },
    { name: 'the API server', takes: '^kubectl ', way: 'run' },
    {
      name: 'rules of the node',
      takes: String.raw`^(?:iptables|ip6tables|iptables-(?:legacy-|nft-)?save|iptables-restore|nft|conntrack|ipset|\.\/(?:ip|nf)tables-logdrop\.sh)(?: |$)`,
      way: 'run',
    },
    {
      name: 'the node',
      takes:
        '^(?:cat|curl|df|dmesg|echo|fuser|install|ip|journalctl|ls|mkdir|nc|pgrep|printf|ps|rmdir|sysctl|touch|uname|zgrep)(?: |$)',
      way: 'run',
    },
  ],
  // What commands do besides ending with 0. The first row that is part of the filled command applies. ^ and $ match at
  // line ends.
  outcomes: [
    { command: 'kubectl delete -k .', isLast: true, before: 'kubectl apply -k . --server-side > /dev/null' },
    {
      command: 'kubectl delete -k my-cluster',
      isLast: true,
      before: 'kubectl apply -k my-cluster --server-side > /dev/null',
    },
    {
      command: 'kubectl create namespace kube-netfilter-tailer',
      exits: [1],
      reason: 'the manifests, which are applied before, have it too',
      prints: 'AlreadyExists',
    },
    { command: 'fuser -v /run/xtables.lock', before: 'exec 9< /run/xtables.lock' },
    { command: 'fuser -v 31400/', exits: [0, 1], reason: 'nobody listens there, and fuser ends with 1' },
    { command: 'fuser -v 32056/', exits: [0, 1], reason: 'nobody listens there, and fuser ends with 1' },
    { command: 'ipset list KUBE-CLUSTER-IP', before: 'ipset create KUBE-CLUSTER-IP hash:ip,port -exist' },
    {
      command: 'doctor --enable-logging',
      exits: [0, 1],
      reason: 'other tests have Pods of network plug-ins in the same cluster, or none',
      prints: 'Nothing was changed',
    },
    { command: 'delete pod calico-node-9fz4d', isLast: true },
    { command: 'delete pod -n kube-system kube-proxy-9r5cn', isLast: true },
    { command: 'npm start --silent -- run --node', prints: '"msg":"Started"' },
    { command: 'kubectl describe pod netcheck', prints: 'Warning +PacketDrop', within: 60 },
    {
      command: 'kubectl kustomize . | kubectl diff -f -',
      exits: [0, 1],
      reason: 'diff ends with 1 when something differs',
      prints: 'PodMonitor',
    },
    {
      command: 'kubectl top pod',
      exits: [1],
      reason: 'no metrics server is here; kubectl has understood what it was asked',
      prints: '^error: Metrics API not available$',
    },
    { command: 'kube-netfilter-tailer doctor --send-test-event', prints: 'kubectl get events' },
    {
      command: 'kube-netfilter-tailer doctor',
      exits: [0, 1],
      reason: 'doctor ends with 1 when it finds a problem, and there are some on this node',
      prints: 'rights|log-rules',
    },
    {
      command: 'kube-netfilter-tailer why',
      exits: [0, 1, 3],
      reason:
        'the status is the verdict: denied where a policy isolates the Pod, unknown where policies of Calico may not be listed',
      prints: String.raw`ingress of shop\/postgres-0`,
    },
    {
      command: 'npm start --silent -- doctor',
      exits: [0, 1],
      reason: 'doctor ends with 1 when it finds a problem, and there are some on this node',
      prints: '^ok +rights',
    },
    {
      command: 'zgrep -i rpfilter',
      exits: [0, 1, 2],
      reason: 'a node has one of the two files, and zgrep says that the other is missing',
    },
    {
      command: 'rmdir /run/xtables.lock',
      before: "mount -t tmpfs tmpfs /run; trap 'umount /run' EXIT; mkdir /run/xtables.lock",
    },
    {
      command: './iptables-logdrop.sh --remove',
      before: 'cd deploy/logging; ./iptables-logdrop.sh --chain FORWARD',
      prints: String.raw`: \d+ DROP rules put back, \d+ logging rules and \d+ chains removed$`,
    },
    { command: './iptables-logdrop.sh', before: 'cd deploy/logging' },
    {
      command: "./nftables-logdrop.sh --table 'inet filter' --remove",
      before: "cd deploy/logging; ./nftables-logdrop.sh --table 'inet filter' --chain forward",
      prints: String.raw`^inet filter: \d+ drop rules put back, \d+ logging rules and 4 chains removed$`,
    },
    { command: './nftables-logdrop.sh', before: 'cd deploy/logging' },
    { command: 'iptables -L KNT-LOGDROP', before: 'iptables -N KNT-LOGDROP' },
    {
      command: 'nft delete rule ip filter FOREIGN',
      before:
        "nft 'add chain ip filter FOREIGN; add rule ip filter FOREIGN counter'; FOREIGN_HANDLE=$(nft -a list chain ip filter FOREIGN | grep -o 'counter.*handle [0-9]*' | grep -o '[0-9]*$')",
    },
    { command: 'kubectl debug node/', prints: '^Creating debugging pod' },
    { command: 'curl -k https://', prints: '^ok$' },
    { command: 'kubectl auth can-i', prints: '^yes$' },
    { command: '/proxy/readyz', prints: '^ok$' },
    { command: 'kubectl -n shop describe networkpolicy', prints: 'PodSelector: +app=postgres' },
    { command: 'samples/kube-proxy-lw8zd-fight.log', prints: 'CalicoDeletesServiceChains' },
    { command: '--explain', prints: 'dropped' },
  ],
};

/** The first rule that matches a command applies. */
export const rules: readonly Rule[] = tables.rules.map(({ takes, ...rule }) =>
  Object.assign(rule, { takes: new RegExp(takes) }),
);

/** The expected outcome of a command, where that is more than exit status 0. */
export interface Outcome {
  /** The filled command, or the part of it that matters. */
  readonly command: string;
  readonly exits?: readonly number[];
  /** Why an exit status other than 0 is right. */
  readonly reason?: string;
  /** Matches standard output or standard error. */
  readonly prints?: RegExp;
  /** Shell code that makes the state that the document describes. */
  readonly before?: string;
  /** It is run last, because it removes objects that others need. */
  readonly isLast?: boolean;
  /** For how many seconds it is tried again until the outcome is as expected. */
  readonly within?: number;
}

export const outcomes: readonly Outcome[] = tables.outcomes.map(({ prints, ...row }) =>
  Object.assign(row, prints === undefined ? {} : { prints: new RegExp(prints, 'm') }),
);

export function ruleOf({ text }: Command): Rule | undefined {
  const filled = fill(text);
  return rules.find(({ takes }) => takes.test(filled));
}

export function outcomeOf(filled: string): Outcome | undefined {
  return outcomes.find(({ command }) => filled.includes(command));
}
