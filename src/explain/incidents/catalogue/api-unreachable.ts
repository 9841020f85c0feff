import type { CauseRow } from './cause.ts';
import { quoteOf, startsWithAny, textOfRecord } from './record-text.ts';
import { subjects } from './texts.ts';

/** Messages that show the failure by themselves [felix/daemon, libcalico-go, typha/pkg/syncclient, node/pkg/lifecycle/startup]. */
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

/** Messages that count only with a network error, because the API may also have answered with a refusal. */
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

/** The API server does not answer, or refuses. */
const refusal = new RegExp(`${networkError.source}|Unauthorized|forbidden`);

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
    // An unknown program must at least name its source file in the way that Calico's programs do.
    if (record.program === 'unknown' && !record.caller.includes('/')) return undefined;
    const isAlone = startsWithAny(record.message, alone);
    if (!isAlone && !startsWithAny(record.message, withNetworkError)) return undefined;
    const text = textOfRecord(record);
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

/**
 * Texts that identify kube-proxy in a record without a writer: a list that only it reads, its selector or its account. The kubelet also
 * watches Services and Nodes.
 */
const ofKubeProxy =
  /\*(?:v1|v1beta1|core|api|discovery)\.(?:EndpointSlice|Endpoints|ServiceCIDR)\b|service-proxy-name|User "system:(?:serviceaccount:[\w-]{1,63}:)?kube-proxy"/;

/** [1.3 to 1.37: client-go tools/cache/reflector.go]. */
const cannotList = /\b[Ff]ailed to (?:list|watch)\b/;

export const kubeProxyApiUnreachable: CauseRow = {
  code: 'KN119',
  name: 'kube-proxy-api-unreachable',
  title: 'kube-proxy cannot list or watch Services',
  reason: 'KubeProxyApiUnreachable',
  overReason: 'KubeProxyApiReachable',
  retryInterval: 60_000,
  programs: ['kube-proxy', 'unknown'],
  needles: ['ailed to list ', 'ailed to watch', 'Failed to retrieve node'],
  match(record) {
    const text = textOfRecord(record);
    const isKubeProxy = record.program === 'kube-proxy' || ofKubeProxy.test(`${text}\n${record.fields['type'] ?? ''}`);
    const isList = isKubeProxy && record.caller === 'reflector.go' && cannotList.test(text);
    const isNode =
      record.program === 'kube-proxy' &&
      record.message.startsWith('Failed to retrieve node info') &&
      refusal.test(text);
    if (!isList && !isNode) return undefined;
    const host = /\bGet "?https?:\/\/([\w.:[\]-]{1,80})\//.exec(text)?.[1];
    return {
      subject: /\bdial tcp (\[[\da-fA-F:]{2,45}\]:\d{1,5}|[\d.]{7,15}:\d{1,5})/.exec(text)?.[1] ?? host,
      quote: reasonOf(text),
    };
  },
  what: (details, node) =>
    `kube-proxy on ${node} cannot list or watch Services${subjects(details) === '' ? '' : ` at ${subjects(details)}`}: it keeps the rules that it has.`,
  why({ quote }) {
    if (/forbidden/.test(quote)) return 'The API server knows kube-proxy, but its account may not list or watch them.';
    if (/Unauthorized|x509/.test(quote))
      return 'The API server does not accept its token or certificate, or kube-proxy does not trust that of the server: expired, of another cluster, or the clock of the node is wrong.';
    if (/connection refused/.test(quote))
      return 'Nothing listens at that address: the API server, or the load balancer or local proxy before it, is down.';
    return 'The API server, or the load balancer before it, does not answer this node: a route, a firewall, a name that cannot be resolved, or an overload.';
  },
  fix: ({ quote }) =>
    /forbidden/.test(quote)
      ? 'Bind its account to the ClusterRole system:node-proxier: kubectl get clusterrolebindings -o wide | grep node-proxier. Check: kubectl auth can-i watch endpointslices.discovery.k8s.io --as=system:kube-proxy.'
      : 'On the node: curl -k https://ADDRESS:PORT/healthz with the address in the kubeconfig of kube-proxy (kubectl -n kube-system get configmap kube-proxy -o yaml). For a token or certificate: renew it, then restart kube-proxy.',
};

/** Returns the failed list and the reason. The path of a list alone may have more characters than a quote. */
function reasonOf(text: string): string {
  const [line] = /\b[Ff]ailed to list [^\n]{1,4096}/.exec(text) ?? [text.replaceAll('\n', ': ')];
  return line.replace(/(\bGet "?https?:\/\/[^\s/"]{1,80})\/[^\s"]{0,4096}?(?="|: | |$)/, '$1');
}
