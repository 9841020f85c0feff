/** One row of the list: what an Event says of lost packets. Each of its texts may be a stranger's. */
import type { Millis } from '../../model/log-line.ts';
import { at, instant, type Json, text } from '../../platform/json.ts';
import { endText } from '../terminal.ts';
import { readDrop } from './read-event.ts';

export interface DropRow {
  /** Namespace and name of the Event. */
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly port: string;
  readonly count: number;
  readonly last: Millis | undefined;
  /** `dropped`, `rejected`; of an incident the reason of its Event. */
  readonly verdict: string;
  readonly node: string;
  readonly policy: string;
  readonly message: string;
  /** The object that the Event is on. */
  readonly object: { readonly kind: string; readonly namespace: string; readonly name: string };
}

/** What is not known. */
const none = '-';

export function rowOf(event: Json): DropRow {
  const kind = text(at(event, 'involvedObject', 'kind')) ?? '';
  const name = text(at(event, 'involvedObject', 'name')) ?? '';
  const namespace = text(at(event, 'involvedObject', 'namespace')) ?? '';
  const message = text(at(event, 'message')) ?? '';
  const own = endText(kind, namespace === '' ? name : `${namespace}/${name}`);
  const drop = readDrop(event);
  const peer = drop?.peer ?? none;
  const count = at(event, 'count');
  return {
    key: keyOf(event),
    from: drop?.direction === 'sending' ? own : peer,
    to: drop?.direction === 'sending' ? peer : own,
    port: drop?.port ?? none,
    count: typeof count === 'number' && Number.isSafeInteger(count) && count > 0 ? count : 1,
    last: lastOf(event),
    verdict: drop?.verdict ?? text(at(event, 'reason')) ?? none,
    node: nodeOf(event) ?? none,
    policy: drop?.policy ?? none,
    message,
    object: { kind, namespace, name },
  };
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
