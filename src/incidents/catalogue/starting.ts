import type { ProgramRecord } from '../../model/program-record.ts';
import type { CauseRow } from './cause.ts';
import { find, lineAt, textOf } from './record-text.ts';
import { failingPodArguments, plural, podArguments, program, shellWords, subjects } from './texts.ts';

/** The longest pause before a container that ends at once is started again. */
const crashLoop = 300_000;

/** Finds missing kernel modules in the errors about files and tools that kube-proxy needs at its start. */
const wants: readonly { expression: RegExp; module: string }[] = [
  {
    expression:
      /\/proc\/sys\/net\/(?:netfilter\/|ipv4\/netfilter\/ip_|)nf_conntrack\w*: no such file|netfilter\/nf_conntrack_max: no such file/,
    module: 'nf_conntrack',
  },
  { expression: /\bipvs (?:not supported|is not)|can't use the IPVS proxier/i, module: 'ip_vs' },
];

/** Errors in options and configuration, before the proxy runs. Later errors are logged twice, first as `Error running ProxyServer`. */
const configuration =
  /^(?:failed (?:complete|validate|os init)|initialize logging|unknown (?:short)?hand flag|unknown flag|"[^"\n]{1,200}" does not take)/;

export const cannotStart: CauseRow = {
  code: 'KN116',
  name: 'kube-proxy-cannot-start',
  title: 'kube-proxy does not start',
  reason: 'KubeProxyCannotStart',
  overReason: 'KubeProxyStarted',
  retryInterval: crashLoop,
  endsWithSync: true,
  programs: ['kube-proxy'],
  needles: ['Error running ProxyServer', 'command failed'],
  match(record) {
    const { message, severity, caller, error } = record;
    const starts =
      message === 'Error running ProxyServer' ||
      (message === 'command failed' && configuration.test(error)) ||
      (severity === 'fatal' && /(?:^|\/)server(?:_\w+)?\.go$/.test(caller));
    if (!starts) return undefined;
    const text = textOf(record);
    const wanted = wants.find(({ expression }) => expression.test(text));
    return {
      subject: wanted?.module,
      quote: wanted === undefined ? undefined : lineAt(text, Math.max(0, text.search(wanted.expression))),
    };
  },
  what: (_, node) =>
    `kube-proxy does not start on ${node}: Services keep the rules of before, or have none since the last reboot.`,
  why: (details) =>
    shellWords(details.subjects).length > 0
      ? `Not loaded into the kernel: ${shellWords(details.subjects).join(', ')}.`
      : 'It ends with an error before its first sync: its configuration, its access to the API server or the kernel is at fault.',
  fix(details) {
    const modules = shellWords(details.subjects).join(' ');
    const logs = `kubectl logs ${podArguments(details)} --previous`;
    return modules === ''
      ? `Read ${logs} and kubectl -n kube-system get configmap kube-proxy -o yaml.`
      : `On the node: modprobe -a ${modules}; to keep it: printf '%s\\n' ${modules} >> /etc/modules-load.d/kube.conf. The rest is in ${logs}.`;
  },
  impact: () => 'Services that are new or have changed are not reachable from this node; after a reboot none is.',
};

/** kube-proxy's first record [1.22 to 1.36: cmd/kube-proxy/app/server.go]. Nothing else in k3s writes it. */
const startNeedle = 'Version info';

export function isStart({ program: writer, caller, message }: ProgramRecord): boolean {
  return writer === 'kube-proxy' && caller === 'server.go' && message === startNeedle;
}

/** Matches felix's last message before an exit that is intended, or whose reason felix has already logged. */
const orderly =
  /^(?:Exiting|Signal received|Graceful shutdown|Managed shutdown|Failed to wait for driver)|^panic: \(\*logrus\.Entry\)/;

export const restarting: CauseRow = {
  code: 'KN117',
  name: 'program-restarting',
  title: 'A network program keeps restarting',
  reason: 'NetworkProgramRestarting',
  overReason: 'NetworkProgramStable',
  retryInterval: crashLoop,
  neverFatal: true,
  programs: ['kube-proxy', 'felix', 'confd', 'calico-node'],
  needles: ['[FATAL][', '[PANIC][', ': FATAL ', ': PANIC ', ': CRITICAL ', '] panic: ', 'fatal error: ', startNeedle],
  match({ severity, message }) {
    const crashed = severity === 'fatal' || /^(?:panic|fatal error): /.test(message);
    return crashed && !orderly.test(message) ? {} : undefined;
  },
  what: (details, node) =>
    `${program(details)} on ${node} keeps restarting${details.restarts > 0 ? `, ${plural(details.restarts, 'time')} so far` : ''}.`,
  why: () =>
    'It crashes, is killed for want of memory, or fails its liveness probe. In between, rules for Services, policy and routes stand still.',
  fix(details) {
    const pod = failingPodArguments(details);
    if (pod === undefined && details.failing === 'kube-proxy' && details.facts.kubeProxyHere === false)
      return 'kube-proxy is no Pod here. On the node: systemctl status kube-proxy; journalctl -u kube-proxy (k3s, which restarts as a whole: -u k3s), or its log file; dmesg | grep -i oom.';
    return pod === undefined
      ? 'Read kubectl -n kube-system get pods -o wide, then logs --previous and describe of the Pod: look for OOMKilled and failed probes.'
      : `Read kubectl logs ${pod} --all-containers --previous, and kubectl describe pod ${pod}: look for OOMKilled, failed probes and the exit code.`;
  },
};

/** Matches kube-proxy's ports for health and metrics [1.8 to 1.36: pkg/proxy/healthcheck, cmd/kube-proxy/app/server.go]. */
const taken =
  /(?:starting metrics server failed|ailed to start (?:node|proxier) healthz on [\w.:[\]]{1,60})(?:: |\n)listen tcp ([\w.:[\]]{1,60}): bind: address already in use/;

export const portTaken: CauseRow = {
  code: 'KN118',
  name: 'kube-proxy-port-taken',
  title: 'Another program listens on a port of kube-proxy',
  reason: 'KubeProxyPortTaken',
  overReason: 'KubeProxyPortFree',
  programs: ['kube-proxy'],
  needles: ['starting metrics server failed', 'ailed to start node healthz', 'ailed to start proxier healthz'],
  match: (record) => find(textOf(record), [taken]),
  retryInterval: 60_000,
  neverFatal: true,
  what: (details, node) =>
    `kube-proxy on ${node} cannot listen on ${subjects(details) || 'a port'}: another program does, often a second kube-proxy.`,
  why: () =>
    'Two kube-proxies delete the rules of each other, and health checks of load balancers reach the wrong program: a kube-proxy on the host beside its Pod, k3s with a second one, or another program on that port.',
  fix: (details) =>
    `On the node: pgrep -a kube-proxy. Remove the one that is not meant to run, then restart the other: kubectl delete pod ${podArguments(details)}.`,
};
