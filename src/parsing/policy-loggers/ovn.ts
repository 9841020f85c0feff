import type { Unparsable } from '../../model/observation.ts';
import type { PacketObservation, PolicyName, Verdict } from '../../model/packet.ts';
import { observePacket } from './record.ts';

/**
 * OVN's ACL log as OVN-Kubernetes writes it:
 *
 *     |00005|acl_log(ovn_pinctrl0)|INFO|name="ns_policy", verdict=drop, severity=alert, direction=to-lport: tcp,…,nw_src=…,tp_dst=80
 */
export function parseOvn(text: string): PacketObservation | Unparsable | undefined {
  const found =
    /^(?:\d{4}-\d\d-\d\dT[\d:.]{8,15}Z|(?:ovn-controller: )?ovs)?\|\d{1,10}\|acl_log\([^)]{0,64}\)\|\w+\|name="([^"]{0,512})", verdict=(\w+), [^:]{0,128}: (\w+),/.exec(
      text,
    );
  if (!found) return undefined;
  const [whole, name = '', verdict = '', protocol = ''] = found;
  const fields = new Map<string, string>();
  for (const pair of text.slice(found.index + whole.length, found.index + 4096).split(',')) {
    const at = pair.indexOf('=');
    if (at > 0) fields.set(pair.slice(0, at), pair.slice(at + 1).trim());
  }
  return observePacket({
    logger: 'ovn-acl',
    verdict: verdicts.get(verdict) ?? 'logged',
    policy: policyOf(name),
    policySide: sideOf(name),
    source: fields.get('nw_src') ?? fields.get('ipv6_src'),
    destination: fields.get('nw_dst') ?? fields.get('ipv6_dst'),
    protocol:
      protocol === 'ip' || protocol === 'ipv6' ? fields.get('nw_proto') : protocol.replace(/^(tcp|udp|sctp)6$/, '$1'),
    sourcePort: fields.get('tp_src'),
    destinationPort: fields.get('tp_dst'),
    icmpType: fields.get('icmp_type'),
    icmpCode: fields.get('icmp_code'),
    ttl: fields.get('nw_ttl'),
  });
}

const verdicts = new Map<string, Verdict>([
  ['drop', 'dropped'],
  ['reject', 'rejected'],
  ['allow', 'accepted'],
]);

/** No name of a policy or Namespace has a capital or a `_`. The field `direction` is that of OVN's port, which some versions have for both. */
function sideOf(name: string): PacketObservation['policySide'] {
  const direction = /:(Ingress|Egress)(?::|$)/.exec(name)?.[1] ?? /_(ingress|egress)DefaultDeny$/.exec(name)?.[1];
  if (direction === undefined) return undefined;
  return direction.toLowerCase() === 'ingress' ? 'receiver' : 'sender';
}

/**
 * `NP:ns:policy:Ingress:0`, `EF:ns:Egress:0`; older `ns_policy`, `ns_policy_0`. `NP:ns:Ingress`, what all of a namespace's do not
 * allow, is no policy's own (go-controller/pkg/libovsdb/util/acl.go of OVN-Kubernetes).
 */
function policyOf(whole: string): PolicyName | undefined {
  const parts = whole.split(':');
  // Its names are cut to 63 characters: the last part may go on.
  const name = whole.length === 63 ? `${whole}…` : whole;
  const [type = '', namespace, policy] = name.split(':');
  // No policy's name has a capital, and each direction one.
  if (type === 'NP' && (parts.length < 3 || /^[A-Z]/.test(policy ?? ''))) return undefined;
  if (parts.length >= 3 && type === 'NP')
    return { kind: 'NetworkPolicy', namespace, name: policy ?? '', tier: undefined };
  if (parts.length >= 2 && type === 'ANP')
    return { kind: 'AdminNetworkPolicy', namespace: undefined, name: namespace ?? '', tier: undefined };
  if (parts.length >= 2 && type === 'BANP')
    return { kind: 'BaselineAdminNetworkPolicy', namespace: undefined, name: namespace ?? '', tier: undefined };
  if (parts.length >= 2 && type === 'EF')
    return { kind: 'EgressFirewall', namespace, name: 'default', tier: undefined };
  if (/_(?:(?:in|e)gressDefaultDeny|ARPallowPolicy)$/.test(name)) return undefined;
  const underscore = /^([a-z0-9-]+)_([a-z0-9.-]+)(?:_\d+)?$/.exec(name);
  if (underscore)
    return { kind: 'NetworkPolicy', namespace: underscore[1], name: underscore[2] ?? '', tier: undefined };
  return { kind: undefined, namespace: undefined, name, tier: undefined };
}
