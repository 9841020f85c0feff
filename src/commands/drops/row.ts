/** Makes a row of the list from the annotations of an Event (docs/events.md). Any of its texts may be a stranger's. */
import { icmpName } from '../../drops/drops.ts';
import { annotationPrefix, annotationSchema } from '../../events/events.ts';
import type { Millis } from '../../model/log-line.ts';
import { at, instant, type Json, text } from '../../platform/json.ts';
import { endText } from '../terminal.ts';

export interface DropRow {
  readonly from: string;
  readonly to: string;
  readonly port: string;
  readonly count: number;
  readonly last: Millis | undefined;
  readonly verdict: string;
  readonly node: string;
  readonly policy: string;
  readonly message: string;
}

const none = '-';

export function rowOf(event: Json): DropRow {
  const [kind, namespace, name] = ['kind', 'namespace', 'name'].map(
    (key) => text(at(event, 'involvedObject', key)) ?? '',
  );
  const own = endText(kind, namespace ? `${namespace}/${name}` : (name ?? ''));
  const of = annotationsIn(event);
  const peer = peerOf(of);
  const isSending = of('direction') === 'sending';
  const reason = text(at(event, 'reason')) ?? none;
  const count = at(event, 'count');
  return {
    from: isSending ? own : peer,
    to: isSending ? peer : own,
    port: portOf(of),
    count: typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 1,
    last: lastOf(event),
    verdict: of('verdict') === 'rejected' ? 'rejected' : reason === 'PacketDrop' ? 'dropped' : reason,
    node: nodeOf(event) ?? none,
    policy: policyOf(of('policy')),
    message: text(at(event, 'message')) ?? '',
  };
}

/** Looks up an annotation of this program; finds none where they are of another version. */
export function annotationsIn(event: Json): (key: string) => string | undefined {
  const annotations = at(event, 'metadata', 'annotations');
  const of = (key: string): string | undefined => text(at(annotations, annotationPrefix + key));
  return of('schema') === annotationSchema ? of : () => undefined;
}

function peerOf(of: (key: string) => string | undefined): string {
  const [peer, peers] = [of('peer'), of('peers')];
  if (peer === undefined) return peers === undefined ? none : `${peers} ${peers === '1' ? 'peer' : 'peers'}`;
  const [kind = '', ...name] = peer.split('/');
  // Kinds in lower case are words of this program for peers that are no objects: external, unknown.
  return endText(/^[A-Z]/.test(kind) ? kind : undefined, name.join('/'));
}

/** `5432/TCP`, `ICMP echo request`, `SCTP`, `22/TCP,80/TCP`. */
function portOf(of: (key: string) => string | undefined): string {
  const [port, protocol, icmp, list] = [of('port'), of('protocol'), of('icmp'), of('port-list')];
  if (port !== undefined) return `${port}/${protocol ?? 'TCP'}`;
  if (list !== undefined) {
    const more = Number(of('ports')) - list.split(',').length;
    return more > 0 ? `${list},${more} more` : list;
  }
  const [, type, code] = /^(\d{1,3})\/(\d{1,3})$/.exec(icmp ?? '') ?? [];
  if (type === undefined || protocol === undefined) return protocol ?? none;
  return `${protocol} ${icmpName(protocol, Number(type), Number(code)).replace(/ \(.*/, '')}`;
}

function policyOf(annotation: string | undefined): string {
  const [kind = none, ...name] = annotation?.split('/') ?? [];
  return annotation !== undefined && name.length === 0 ? `policy ${kind}` : [kind, name.join('/')].join(' ').trim();
}

export function keyOf(event: Json): string {
  return `${text(at(event, 'metadata', 'namespace')) ?? ''}/${text(at(event, 'metadata', 'name')) ?? ''}`;
}

export function lastOf(event: Json): Millis | undefined {
  return instant(at(event, 'lastTimestamp')) ?? instant(at(event, 'metadata', 'creationTimestamp'));
}

export function nodeOf(event: Json): string | undefined {
  return text(at(event, 'source', 'host'));
}
