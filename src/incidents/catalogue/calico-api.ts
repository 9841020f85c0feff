import type { CauseRow } from './cause.ts';
import { textOf, startsWithAny, quoteOf } from './record-text.ts';
import { subjects } from './texts.ts';

/** felix/daemon, libcalico-go/lib/clientv3 and watchersyncer, typha/pkg/syncclient, node/pkg/lifecycle/startup. */
const alone = [
  'Failed to connect to Typha',
  'Failed to connect to typha endpoint',
  'Failed to (re)connect to datastore',
  'Connection to datastore has failed',
  'Connection to the datastore is unauthorized',
  'API server refused connection',
  'Unable to access datastore to query node configuration',
  'Timed out waiting for connection to be restored',
];

/** These need an error of the network beside them; the API may also have answered. */
const withNetworkError = [
  'Error getting cluster information config',
  'Failed to get config from datastore',
  'Failed to create datastore client',
  'Hit error connecting to datastore',
  'Failed to perform list of current data during resync',
  'Failed to create watcher',
];

const networkError =
  /\bdial tcp |connection refused|no route to host|network is unreachable|i\/o timeout|TLS handshake timeout|context deadline exceeded|Client\.Timeout exceeded|x509: |connection reset by peer|no such host/;

export const apiUnreachable: CauseRow = {
  code: 'KN207',
  name: 'calico-api-unreachable',
  title: 'The API or Typha is out of reach for Calico',
  reason: 'CalicoApiUnreachable',
  overReason: 'CalicoApiReachable',
  retryInterval: 60_000,
  programs: ['felix', 'confd', 'calico-node', 'unknown'],
  needles: [...alone, ...withNetworkError],
  infoOpenings: ['Hit error connecting to datastore', 'Failed to perform list of current data'],
  match(record) {
    // A program that is not known must at least name its source file as Calico's do.
    if (record.program === 'unknown' && !record.caller.includes('/')) return undefined;
    const isAlone = startsWithAny(record.message, alone);
    if (!isAlone && !startsWithAny(record.message, withNetworkError)) return undefined;
    const text = textOf(record);
    const quote = quoteOf(text, networkError);
    if (quote === undefined && !isAlone) return undefined;
    return {
      subject: /\bdial tcp (\[[\da-fA-F:]{2,45}\]:\d{1,5}|[\d.]{7,15}:\d{1,5})/.exec(text)?.[1],
      quote,
    };
  },
  what: (details, node) =>
    `Calico on ${node} cannot reach the Kubernetes API or Typha${subjects(details) !== '' ? ` at ${subjects(details)}` : ''}: changes of policies and Pods do not arrive.`,
  why(details) {
    if (/x509|unauthorized/i.test(details.quote))
      return 'It gets an answer and does not trust it, or is not trusted: certificates or tokens have expired.';
    return details.facts.kubeProxyHere === false
      ? 'No kube-proxy runs on this node, so the address of the Service kubernetes leads nowhere unless eBPF is on and KUBERNETES_SERVICE_HOST names the real API server.'
      : 'Mostly kube-proxy has not yet, or no longer, made the rules for the Service kubernetes; else routes, a firewall, or the API server itself.';
  },
  fix: () =>
    'On the node: curl -k https://ADDRESS:PORT/healthz for the address above, then for the API server itself. If only the Service address fails, look at kube-proxy on this node first. For Typha: kubectl -n calico-system get endpoints calico-typha; TCP 5473 must be open.',
};
