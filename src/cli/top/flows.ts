/** The kept fields of a flow in an agent's answer. Anybody may have written its text. */
import type { Millis } from '../../base/model/log-line.ts';
import { at, instant, type Json, text } from '../../base/platform/json.ts';
import type { FilteredFlow } from '../drops/filters.ts';
import { icmpText, noValue } from '../drops/drop-row.ts';
import type { FlowEnd } from '../drops/flow-end.ts';
import { cell } from '../terminal.ts';

export interface TopFlow extends FilteredFlow {
  /** Stays the same while an agent keeps counting. */
  readonly id: string;
  /** As shown. */
  readonly port: string;
  readonly packets: number;
  readonly last: Millis;
}

export function topFlowOf(flow: Json): TopFlow {
  const packets = at(flow, 'network.packets');
  const port = at(flow, 'destination.port') ?? at(flow, 'source.port');
  const transport = cell(text(at(flow, 'network.transport')) ?? '').toUpperCase();
  const protocol = transport === 'IPV6-ICMP' ? 'ICMPv6' : transport || undefined;
  const ports = typeof port === 'number' && Number.isInteger(port) ? [`${port}/${transport}`] : [];
  const addresses = ['source', 'destination'].map((end) => text(at(flow, `${end}.address`)));
  return {
    id: JSON.stringify([text(at(flow, 'event.start')) ?? '', ...addresses]),
    from: endOf(flow, 'source'),
    to: endOf(flow, 'destination'),
    ports,
    port: portText(ports[0], protocol, flow),
    protocol,
    verdict: cell(text(at(flow, 'event.action')) ?? '-'),
    policy: policyOf(flow),
    packets: typeof packets === 'number' && Number.isSafeInteger(packets) && packets > 0 ? packets : 0,
    last: instant(at(flow, 'event.end')) ?? 0,
  };
}

/** The same words as in `kubectl drops`. In an answer, the port is the sender's. */
function portText(port: string | undefined, protocol: string | undefined, flow: Json): string {
  const [type, code] = [at(flow, 'icmp.type'), at(flow, 'icmp.code')];
  if (port !== undefined) return at(flow, 'network.reply') === true ? `${port} (reply)` : port;
  if (protocol === undefined || typeof type !== 'number') return protocol ?? noValue;
  return cell(icmpText(protocol, type, typeof code === 'number' ? code : undefined));
}

function endOf(flow: Json, end: 'source' | 'destination'): FlowEnd {
  const of = (name: string): string | undefined => text(at(flow, `${end}.${name}`));
  const [namespace, pod, owner] = [of('k8s.namespace.name'), of('k8s.pod.name'), of('k8s.owner.name')];
  const name = owner ?? pod ?? of('address') ?? of('kind') ?? '-';
  const kind = owner === undefined ? (pod === undefined ? undefined : 'Pod') : of('k8s.owner.kind');
  return { kind, namespace: kind === undefined && owner === undefined ? undefined : namespace, name, pod };
}

/** The policies that deny; if these are not known, the one that the log names or, without one, the one that nearly admits. */
function policyOf(flow: Json): string {
  const of = (name: string): string | undefined => text(at(flow, name));
  const deciding = of('policy.verdict') === 'denied' ? of('policy.decided_by') : undefined;
  if (deciding !== undefined) return cell(deciding.replaceAll(',', ', '));
  const [name, namespace] = [of('security_rule.name'), of('policy.namespace')];
  if (name !== undefined)
    return cell([of('policy.kind'), namespace === undefined ? name : `${namespace}/${name}`].join(' ').trim());
  const nearest = of('policy.nearest')?.split(' ').slice(0, 2).join(' ');
  return nearest === undefined ? '-' : cell(`${nearest} (nearest)`);
}
