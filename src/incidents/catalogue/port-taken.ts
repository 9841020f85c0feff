import type { CauseRow } from './cause.ts';
import { find, isProblem, textOf } from './record-text.ts';
import { podArguments, subjects } from './texts.ts';

/**
 * Matches the ports of kube-proxy's health and metrics, in a text or in an error [1.8 to 1.36: pkg/proxy/healthcheck,
 * cmd/kube-proxy/app/server.go].
 */
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
  match: (record) => (isProblem(record) ? find(textOf(record), [taken]) : undefined),
  retryInterval: 60_000,
  neverFatal: true,
  what: (details, node) =>
    `kube-proxy on ${node} cannot listen on ${subjects(details) || 'a port'}: another program does, often a second kube-proxy.`,
  why: () =>
    'Two kube-proxies delete the rules of each other, and health checks of load balancers reach the wrong program: a kube-proxy on the host beside its Pod, k3s with a second one, or another program on that port.',
  fix: (details) =>
    `On the node: pgrep -a kube-proxy. Remove the one that is not meant to run, then restart the other: kubectl delete pod ${podArguments(details)}.`,
};
