import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation, PolicyName, Verdict } from '../../model/packet.ts';
import { observePacket } from './record.ts';

/**
 * Antrea's np.log, older and newer spelling (rule name, direction, applied-to Pod and log label were added over time):
 *
 *     AntreaPolicyEgressRule AntreaNetworkPolicy:default/p Drop 44900 10.10.1.65 35402 10.0.0.5 80 TCP 60 [3 packets in 1.01s]
 *     AntreaPolicyIngressRule AntreaNetworkPolicy:default/p rule1 Ingress Drop 44900 default/pod 10.… 35402 10.… 80 TCP 60 label
 */
export function parseAntrea(text: string): PacketObservation | Unparsable | undefined {
  const found =
    /^(?:\d{4}\/\d\d\/\d\d [\d:.]{8,15} )?(Antrea\w{1,40}?(?:Rule|Metric)|IngressMetric|EgressMetric|IngressDefaultRule|EgressDefaultRule|IngressRule|EgressRule|\w{0,40}DefaultRule) (\w{0,40}NetworkPolicy)(?::| )(\S{1,300}) (.+)$/.exec(
      text,
    );
  const [, table = '', kind = '', policy = '', rest = ''] = found ?? [];
  if (!found || rest.length > 1000) return undefined;
  const words = rest.split(' ');
  // A rule may be called as an action is; only behind the action stands the OpenFlow priority.
  const at = words.findIndex((word, index) => verdicts.has(word) && /^(?:\d+|<nil>)$/.test(words[index + 1] ?? ''));
  const verdict = verdicts.get(words[at] ?? '');
  if (verdict === undefined)
    return { kind: 'unparsable', format: 'antrea', reason: 'no action (Allow, Drop, Reject) in the line' };
  // Between the action and the addresses: the priority and, since 1.12, the Pod the rule is applied to.
  const flow = words.slice(at + 1);
  const first = flow.findIndex(
    (word, index) => index > 0 && /^(?:\d+\.\d+\.\d+\.\d+|[0-9a-f]*:[0-9a-f:]+)$/i.test(word),
  );
  const [source, sourcePort, destination, destinationPort, protocol, length] = flow.slice(first < 0 ? 1 : first);
  const repeated = /\[(\d{1,9}) packets in /.exec(rest);
  return observePacket({
    logger: 'antrea',
    verdict,
    policy: policy === '<nil>' ? undefined : policyOf(kind, policy),
    policySide: table.includes('Egress') ? 'sender' : table.includes('Ingress') ? 'receiver' : undefined,
    repeat: repeated ? Math.max(1, Number(repeated[1])) : 1,
    source,
    sourcePort,
    destination,
    destinationPort,
    protocol: protocol === '<nil>' ? undefined : protocol,
    length,
  });
}

const verdicts = new Map<string, Verdict>([
  ['Drop', 'dropped'],
  ['Reject', 'rejected'],
  ['Allow', 'accepted'],
  ['Pass', 'logged'],
  ['Redirect', 'accepted'],
]);

function policyOf(kind: string, text: string): PolicyName {
  const slash = text.indexOf('/');
  const kubernetes = kind === 'K8sNetworkPolicy' ? 'NetworkPolicy' : kind;
  if (slash < 0) return { kind: kubernetes, namespace: undefined, name: text, tier: undefined };
  return { kind: kubernetes, namespace: text.slice(0, slash), name: text.slice(slash + 1), tier: undefined };
}
