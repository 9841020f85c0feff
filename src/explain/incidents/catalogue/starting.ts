import type { ProgramRecord } from '../../../base/model/program-record.ts';
import type { CauseRow } from './cause.ts';
import { find, lineAt, textOfRecord } from './record-text.ts';
import { failingPodArguments, amountText, podArguments, program, shellWords, subjects } from './texts.ts';

/** The longest pause before a container that ends at once is started again. */
const crashLoop = 300_000;

/** Errors about what kube-proxy needs at its start: a kernel module, or another reason with its own advice. */
const wants: readonly { expression: RegExp; module?: string; why?: string; fix?: string }[] = [
  {
    expression:
      /\/proc\/sys\/net\/(?:netfilter\/|ipv4\/netfilter\/ip_|)nf_conntrack\w*: no such file|netfilter\/nf_conntrack_max: no such file/,
    module: 'nf_conntrack',
  },
  {
    expression: /error getting \w{5} version, error: [^\n]{0,80}executable file not found/,
    why: 'In mode ipvs it runs the program ipset, which is missing in its image or on the node.',
    fix: "Use kube-proxy's own image or install the package ipset where kube-proxy runs; or use mode: nftables, which replaces ipvs and needs no ipset.",
  },
  { expression: /error getting \w{5} version/, module: 'ip_set' },
  { expression: /\bipvs (?:not supported|is not)|can't use the IPVS proxier/i, module: 'ip_vs' },
  {
    expression: /could not find nftables binary/,
    why: 'In mode nftables it runs the program nft, which is missing in its image or on the node.',
    fix: "Use kube-proxy's own image, or install the package nftables (1.0.1 or newer) where kube-proxy runs.",
  },
  {
    expression: /nft version must be v[\d.]{1,12} or later/,
    why: 'The nft that it runs is too old for mode nftables.',
    fix: "Use kube-proxy's own image, or install nftables 1.0.1 or newer where kube-proxy runs; until then mode: iptables.",
  },
  {
    expression: /nftables mode requires kernel [\d.]{1,12} or later/,
    why: 'The kernel is too old for mode nftables.',
    fix: 'Update the kernel of the node to 5.13 or newer; until then set mode: iptables in its configuration, which from 1.40 on is not the default.',
  },
  {
    expression: /could not run nftables command: [^\n]{0,200}(?:not permitted|ermission denied)/,
    why: 'kube-proxy is not allowed to write rules: its container is not privileged.',
    fix: 'Give its container securityContext.privileged: true and hostNetwork: true.',
  },
  { expression: /could not run nftables command/, module: 'nf_tables' },
  {
    expression: /no support for primary IP family/,
    why: 'It cannot use that family: the line "No iptables support for family" or "No kernel support for family" before it says why.',
    fix: 'Read the lines before the error. Without iptables: mode: nftables, which needs nft 1.0.1 and a kernel of 5.13 or newer. Without IPv6 in the kernel: set an IPv4 address as the first of the Node.',
  },
  {
    expression: /iptables is not available on this host : [^\n]{0,200}executable file not found/,
    why: 'In mode iptables it runs the program iptables, which is missing in its image or on the node.',
    fix: "Use kube-proxy's own image; or mode: nftables, which needs nft 1.0.1 and a kernel of 5.13 or newer, and no iptables.",
  },
];

function wantOf(text: string) {
  return wants.find(({ expression }) => expression.test(text));
}

/** Errors in options and configuration, before the proxy runs. Later errors are logged twice, first as `Error running ProxyServer`. */
const configuration =
  /^(?:failed (?:complete|validate|os init)|initialize logging|unknown (?:short)?hand flag|unknown flag|"[^"\n]{1,200}" does not take)/;

const runningFailed = 'Error running ProxyServer';

/** With a primary family of IPv6, kube-proxy also does without IPv4; but then a failure that repeats also has other reasons. */
export const noIptables = 'No iptables support for family';

/** Returns the error if kube-proxy does not start because it cannot read the tables of iptables. */
export function cannotUseIptables({ message, error, fields }: ProgramRecord): string | undefined {
  if (message === noIptables && fields['ipFamily'] === 'IPv4') return error;
  const begins = message === runningFailed || message === 'command failed';
  return begins && error.startsWith('iptables is not available on this host') ? error : undefined;
}

export const cannotStart: CauseRow = {
  code: 'KN116',
  name: 'kube-proxy-cannot-start',
  title: 'kube-proxy does not start',
  reason: 'KubeProxyCannotStart',
  overReason: 'KubeProxyStarted',
  retryInterval: crashLoop,
  endsWithSync: true,
  isConsequence: true,
  programs: ['kube-proxy'],
  needles: ['Error running ProxyServer', 'command failed'],
  match(record) {
    const { message, severity, caller, error } = record;
    const starts =
      message === runningFailed ||
      (message === 'command failed' && configuration.test(error)) ||
      (severity === 'fatal' && /(?:^|\/)server(?:_\w+)?\.go$/.test(caller));
    if (!starts) return undefined;
    const text = textOfRecord(record);
    const wanted = wantOf(text);
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
      : (wantOf(details.quote)?.why ??
        'It ends with an error before its first sync: its configuration, its access to the API server or the kernel is at fault.'),
  fix(details) {
    const { fix } = wantOf(details.quote) ?? {};
    if (fix !== undefined) return fix;
    const modules = shellWords(details.subjects).join(' ');
    const logs = `kubectl logs ${podArguments(details)} --previous`;
    return modules === ''
      ? `Read ${logs} and kubectl -n kube-system get configmap kube-proxy -o yaml.`
      : `On the node: modprobe -a ${modules}; to keep it: printf '%s\\n' ${modules} >> /etc/modules-load.d/kube.conf. The rest is in ${logs}.`;
  },
  impact: () => 'New or changed Services are not reachable from this Pod; after a reboot of its node, none is.',
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
    `${program(details)} on ${node} keeps restarting${details.restarts > 0 ? `, ${amountText(details.restarts, 'time')} so far` : ''}.`,
  why: () =>
    'It crashes, is killed for want of memory, or fails its liveness probe. In between, rules for Services, policy and routes stand still.',
  fix(details) {
    const pod = failingPodArguments(details);
    if (pod === undefined && details.failing === 'kube-proxy' && details.facts.kubeProxyHere === false)
      return 'kube-proxy is not a Pod here. On the node: systemctl status kube-proxy; journalctl -u kube-proxy (k3s, which restarts as a whole: -u k3s), or its log file; dmesg | grep -i oom.';
    return pod === undefined
      ? 'Read kubectl -n kube-system get pods -o wide, then logs --previous and describe of the Pod: look for OOMKilled and failed probes.'
      : `Read kubectl logs ${pod} --all-containers --previous, and kubectl describe pod ${pod}: look for OOMKilled, failed probes and the exit code.`;
  },
};

/** Matches kube-proxy's ports for health and metrics [1.8 to 1.37: pkg/proxy/healthcheck, cmd/kube-proxy/app/server.go]. */
const taken =
  /(?:starting metrics server failed|ailed to start (?:node|proxier|proxy) healthz on [\w.:[\]]{1,60})(?:: |\n)listen tcp ([\w.:[\]]{1,60}): bind: address already in use/;

export const portTaken: CauseRow = {
  code: 'KN118',
  name: 'kube-proxy-port-taken',
  title: 'Another program listens on a port of kube-proxy',
  reason: 'KubeProxyPortTaken',
  overReason: 'KubeProxyPortFree',
  programs: ['kube-proxy'],
  needles: [
    'starting metrics server failed',
    'ailed to start node healthz',
    'ailed to start proxier healthz',
    'ailed to start proxy healthz',
  ],
  match: (record) => find(textOfRecord(record), [taken]),
  retryInterval: 60_000,
  neverFatal: true,
  what: (details, node) =>
    `kube-proxy on ${node} cannot listen on ${subjects(details) || 'a port'}: another program does, often a second kube-proxy.`,
  why: () =>
    "Two kube-proxies delete each other's rules, and health checks of load balancers reach the wrong program: a kube-proxy on the host next to its Pod, k3s with a second one, or another program on that port.",
  fix: (details) =>
    `On the node: pgrep -a kube-proxy. Remove the one that is not meant to run, then restart the other: kubectl delete pod ${podArguments(details)}.`,
};

/** Name the Service: `"nodePort for shop/web:http" (:31400/tcp)` until 1.22, and the health check of one with externalTrafficPolicy Local. */
const services = [
  /"(?:nodePort|externalIP)? ?for ([\w./:-]{1,200})" \(/,
  /\bfailed to start healthcheck "([\w./-]{1,200})"/,
];

export const nodePortTaken: CauseRow = {
  code: 'KN121',
  name: 'node-port-taken',
  title: 'Another program listens on a port of a Service',
  reason: 'NodePortTaken',
  overReason: 'NodePortFree',
  neverFatal: true,
  programs: ['kube-proxy'],
  needles: ["can't open ", 'ailed to start healthcheck', 'Failed to create localhost nodeport proxy'],
  match(record) {
    const text = textOfRecord(record);
    const bound = /listen (?:tcp|udp|sctp)[46]? [\w.:[\]-]{0,60}?(\d{1,5}): bind: address already in use/.exec(text);
    const isOfService = /can't open |ailed to start healthcheck|Failed to create localhost nodeport proxy/.test(text);
    if (bound === null || !isOfService) return undefined;
    const { service, port = '' } = record.fields;
    const named = service ?? services.map((form) => form.exec(`${text}\n${port}`)?.[1]).find(Boolean);
    return { subject: named === undefined ? bound[1] : `${bound[1]} of ${named}`, quote: lineAt(text, bound.index) };
  },
  what: (details, node) =>
    `kube-proxy on ${node} cannot listen on port ${subjects(details, 2, 60) || 'of a Service'}: another program does.`,
  why: () =>
    'Connections may reach the other program, or a load balancer takes the node out: a program on the host network, a second kube-proxy, or a NodePort in the range of local ports.',
  fix(details) {
    const [port = 'PORT'] = /^\d{1,5}/.exec(details.subjects[0] ?? '') ?? [];
    return `On the node: fuser -v ${port}/tcp shows which (for UDP: ${port}/udp). Let it use another port, or give the Service another nodePort or healthCheckNodePort.`;
  },
};
