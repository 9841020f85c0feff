/** The fields of an Event that `kubectl drops` shows. A stranger may have written any of its texts. */
import { deniedBy, icmpName, isAboutSending } from '../../explain/drops/drops.ts';
import { annotationPrefix, annotationSchema } from '../../publish/events/events.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { at, instant, type Json, text } from '../../base/platform/json.ts';
import type { FlowEnd } from './flow-end.ts';

export interface DropRow {
  readonly from: FlowEnd;
  readonly to: FlowEnd;
  /** `5432/TCP`; of packets on several ports the first ones. */
  readonly ports: readonly string[];
  /** Text in place of ports, or after them. */
  readonly port: string;
  readonly protocol: string | undefined;
  readonly count: number;
  readonly last: Millis | undefined;
  readonly verdict: string;
  readonly node: string;
  /** The policy that denies; of several, the one closest to allowing the packet, and the number of others. */
  readonly policy: string;
  readonly message: string;
  /** The end whose Event this is. */
  readonly side: 'from' | 'to';
  /** Replies and ICMP errors are not packets of the connection itself. */
  readonly packet: string | undefined;
}

export const noValue = '-';

export function dropRowOf(event: Json): DropRow {
  const of = annotationsIn(event);
  const message = text(at(event, 'message')) ?? '';
  const direction = of('direction');
  // An Event that counts what is past the limit has no direction, because its packets may differ in it.
  const isSending = direction === undefined ? isAboutSending(message) : direction === 'sending';
  const [own, peer] = [ownEnd(event), peerEnd(event, of)];
  const reason = text(at(event, 'reason')) ?? noValue;
  const count = at(event, 'count');
  return {
    from: isSending ? own : peer,
    to: isSending ? peer : own,
    ...portsOf(of),
    protocol: of('protocol'),
    count: typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 1,
    last: lastOf(event),
    verdict: of('verdict') === 'rejected' ? 'rejected' : reason === 'PacketDrop' ? 'dropped' : reason,
    node: nodeOfEvent(event) ?? noValue,
    policy: policyOf(of('policy'), of('schema') === undefined ? '' : message),
    message,
    side: isSending ? 'from' : 'to',
    packet: of('packet'),
  };
}

export function lastOf(event: Json): Millis | undefined {
  return instant(at(event, 'lastTimestamp')) ?? instant(at(event, 'metadata', 'creationTimestamp'));
}

export function nodeOfEvent(event: Json): string | undefined {
  return text(at(event, 'source', 'host'));
}

/** Ignores annotations that another version of this program wrote. */
export function annotationsIn(event: Json): (key: string) => string | undefined {
  const annotations = at(event, 'metadata', 'annotations');
  const of = (key: string): string | undefined => text(at(annotations, annotationPrefix + key));
  return of('schema') === annotationSchema ? of : () => undefined;
}

function ownEnd(event: Json): FlowEnd {
  const of = (key: string): string | undefined => text(at(event, 'involvedObject', key)) || undefined;
  const [kind, name = ''] = [of('kind'), of('name')];
  return { kind, namespace: of('namespace'), name, pod: kind === 'Pod' ? name : undefined };
}

function peerEnd(event: Json, of: (key: string) => string | undefined): FlowEnd {
  const [peer, peers] = [of('peer'), of('peers')];
  const nowhere = { kind: undefined, namespace: undefined, pod: undefined };
  if (peer === undefined)
    return { ...nowhere, name: peers === undefined ? noValue : `${peers} ${peers === '1' ? 'peer' : 'peers'}` };
  const [kind = '', ...path] = peer.split('/');
  // A peer that is not an object has a word in lower case instead of a kind: external, unknown.
  if (!/^[A-Z]/.test(kind)) {
    // A log may have only the beginning of unknown Pods' names: unknown/batch/worker-84f9d6c5bb-*.
    const [own, name] = kind === 'unknown' ? path : [];
    return name === undefined
      ? { ...nowhere, name: path.join('/') }
      : { ...nowhere, kind: 'Pod', namespace: own, name };
  }
  const [namespace, name] = path.length === 2 ? path : [undefined, path.join('/')];
  const related = (key: string): string | undefined => text(at(event, 'related', key));
  const isOne = peers === undefined && related('kind') === 'Pod' && related('namespace') === namespace;
  return { kind, namespace, name: name ?? '', pod: kind === 'Pod' ? name : isOne ? related('name') : undefined };
}

/** `port` is as shown: `5432/TCP`, `ICMP echo request`, `SCTP`, `22/TCP,80/TCP,4 more`. */
function portsOf(of: (key: string) => string | undefined): Pick<DropRow, 'ports' | 'port'> {
  const [own, protocol, icmp, list] = [of('port'), of('protocol'), of('icmp'), of('port-list')];
  if (own !== undefined) {
    const port = `${own}/${protocol ?? 'TCP'}`;
    return { ports: [port], port };
  }
  if (list !== undefined) {
    const ports = list.split(',');
    const more = Number(of('ports')) - ports.length;
    return { ports, port: more > 0 ? `${list},${more} more` : list };
  }
  const [, type, code] = /^(\d{1,3})\/(\d{1,3})$/.exec(icmp ?? '') ?? [];
  if (type === undefined || protocol === undefined) return { ports: [], port: protocol ?? noValue };
  return { ports: [], port: icmpText(protocol, Number(type), Number(code)) };
}

/** Returns `ICMP echo request`. */
export function icmpText(protocol: string, type: number, code: number | undefined): string {
  return `${protocol} ${icmpName(protocol, type, code).replace(/ \(.*/, '')}`;
}

function policyOf(annotation: string | undefined, message: string): string {
  if (annotation === undefined) return deniedBy(message) ?? noValue;
  const [kind = noValue, ...name] = annotation.split('/');
  return name.length === 0 ? `policy ${kind}` : [kind, name.join('/')].join(' ').trim();
}
