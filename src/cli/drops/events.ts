import { setTimeout as delay } from 'node:timers/promises';
import { version } from '../../agent/config/config.ts';
import { component } from '../../publish/events/events.ts';
import {
  type Access,
  type Connection,
  createConnection,
  listAll,
  refusalOfError,
  RefusedError,
  watchEvents,
} from '../../agent/kubernetes/kubernetes.ts';
import { readUserAccess } from '../../agent/kubernetes/kubeconfig.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createBackOff } from '../../base/platform/rates.ts';
import { createSteadyClock } from '../../base/platform/clock.ts';
import { at, instant, type Json, text } from '../../base/platform/json.ts';
import type { ClusterOptions, DropsOptions } from '../options/drops-options.ts';

export type PodSelection = (namespace: string, pod: string) => Promise<boolean>;

export interface EventQuery extends Cluster {
  readonly options: DropsOptions;
  /** Undefined if Events of all objects are wanted. */
  readonly isSelected?: PodSelection | undefined;
}

export interface EventList {
  /** The newest Event is last. */
  readonly events: Json[];
  readonly resourceVersion: string;
}

const pageSize = 500;
/** The API server ends a watch after this time, so that a dead connection is noticed. */
const watchFor: Millis = 240_000;

export async function listDrops(wanted: EventQuery): Promise<EventList> {
  const { connection, namespace, options } = wanted;
  const { items, resourceVersion } = await listAll(
    connection,
    apiPath('/api/v1', namespace, 'events'),
    { fieldSelector: fieldSelectorOf(options), pageSize },
    (event) => ({ apiVersion: 'v1', kind: 'Event', ...withoutManagers(event) }),
  );
  const events: Json[] = [];
  for (const event of items) if (await isAskedFor(event, wanted)) events.push(event);
  return { events: events.toSorted(byLast), resourceVersion };
}

/** Never ends. `tell` gets a line when the watch breaks, and when it works again. Throws a `RefusedError` for 401 and 403. */
export async function* watchDrops(
  wanted: EventQuery,
  { events, resourceVersion: begun }: EventList,
  tell: (line: string) => void,
): AsyncGenerator<Json, void> {
  let shown = new Map(events.map((event) => [keyOf(event), stateOf(event)]));
  let position: string | undefined = begun;
  let isBroken = false;
  const pauses = createBackOff({ first: 1000, longest: 30_000 }, Math.random);
  for (;;) {
    try {
      if (position === undefined) {
        const again = await listDrops(wanted);
        for (const event of again.events) if (isUnseen(event)) yield event;
        // Events that were deleted meanwhile are forgotten.
        shown = new Map(again.events.map((event) => [keyOf(event), stateOf(event)]));
        position = again.resourceVersion;
      }
      for await (const { type, object } of changes(wanted, position)) {
        if (isBroken) tell('The watch works again.');
        isBroken = false;
        if (type === 'BEGUN') continue;
        pauses.reset();
        position = text(at(object, 'metadata', 'resourceVersion')) ?? position;
        if (type === 'DELETED') shown.delete(keyOf(object));
        else if (type !== 'BOOKMARK' && (await isAskedFor(object, wanted)) && isUnseen(object))
          yield withoutManagers(object);
      }
    } catch (error) {
      const refusal = refusalOfError(error);
      if (refusal.status === 401 || refusal.status === 403) throw new RefusedError(refusal);
      // The API server no longer knows the position, so list again.
      if (refusal.status === 410) position = undefined;
      else if (!isBroken) tell(`The watch broke, and is tried again until it works: ${refusal.message}`);
      isBroken ||= refusal.status !== 410;
    }
    await delay(pauses.next());
  }

  /** Notes the Event, because Events are listed again after a break. */
  function isUnseen(event: Json): boolean {
    const [key, state] = [keyOf(event), stateOf(event)];
    if (shown.get(key) === state) return false;
    shown.set(key, state);
    return true;
  }
}

/** Yields `BEGUN` when the answer begins, then changes. */
async function* changes(
  { connection, namespace, options }: EventQuery,
  resourceVersion: string,
): AsyncGenerator<{ type: string; object?: Json }, void> {
  const query = {
    fieldSelector: fieldSelectorOf(options),
    resourceVersion,
    allowWatchBookmarks: true,
    timeoutSeconds: watchFor / 1000,
  };
  const path = apiPath('/api/v1', namespace, 'events');
  for await (const change of watchEvents(connection, path, query, watchFor * 1.5, new AbortController().signal)) {
    if (change === undefined) {
      yield { type: 'BEGUN' };
      continue;
    }
    const type = text(change.type) ?? '';
    if (type === 'ERROR')
      throw refused(
        text(at(change.object, 'message')) ?? '',
        Number(at(change.object, 'code')) || 0,
        text(at(change.object, 'reason')) ?? '',
      );
    yield { type, object: change.object };
  }
}

/** Selects by the program that wrote the Event, because other programs use reasons of the same name. */
function fieldSelectorOf({ all, target }: DropsOptions): string {
  const parts = [`source=${component}`, ...(all ? [] : ['reason=PacketDrop'])];
  if (target.kind === 'pod') parts.push('involvedObject.kind=Pod', `involvedObject.name=${target.name}`);
  return parts.join(',');
}

async function isAskedFor(event: Json, { options: { node, since }, isSelected }: EventQuery): Promise<boolean> {
  if (node !== undefined && nodeOf(event) !== node) return false;
  if (since !== undefined && (lastOf(event) ?? 0) < Date.now() - since) return false;
  if (isSelected === undefined) return true;
  if (at(event, 'involvedObject', 'kind') !== 'Pod') return false;
  const namespace = text(at(event, 'involvedObject', 'namespace')) ?? '';
  return await isSelected(namespace, text(at(event, 'involvedObject', 'name')) ?? '');
}

function keyOf(event: Json): string {
  return `${text(at(event, 'metadata', 'namespace')) ?? ''}/${text(at(event, 'metadata', 'name')) ?? ''}`;
}

export function lastOf(event: Json): Millis | undefined {
  return instant(at(event, 'lastTimestamp')) ?? instant(at(event, 'metadata', 'creationTimestamp'));
}

export function nodeOf(event: Json): string | undefined {
  return text(at(event, 'source', 'host'));
}

function byLast(a: Json, b: Json): number {
  return (lastOf(a) ?? 0) - (lastOf(b) ?? 0) || (keyOf(a) < keyOf(b) ? -1 : 1);
}

function stateOf(event: Json): string {
  return `${lastOf(event)} ${String(at(event, 'count'))}`;
}

function withoutManagers(event: Json): object {
  const metadata = at(event, 'metadata');
  if (typeof metadata !== 'object' || metadata === null) return { ...(event as object) };
  const { managedFields: _, ...rest } = metadata as { managedFields?: Json };
  return { ...(event as object), metadata: rest };
}

/** The kubeconfig, or options about it, cannot be used. */
export class AccessError extends Error {
  override name = 'AccessError';
}

export interface Cluster {
  readonly access: Access;
  readonly connection: Connection;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
}

/** `timeout` limits each request. Throws an `AccessError`. */
export function connectAsUser({ flags, namespace, allNamespaces }: ClusterOptions, timeout?: Millis): Cluster {
  try {
    const access = readUserAccess(flags);
    return {
      access,
      connection: createConnection({
        access,
        userAgent: `kube-netfilter-tailer/${version} drops`,
        clock: createSteadyClock(),
        ...(timeout === undefined ? {} : { timeout }),
      }),
      namespace: allNamespaces ? undefined : (namespace ?? access.namespace),
    };
  } catch (error) {
    throw new AccessError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export function apiPath(api: string, namespace: string | undefined, plural: string): string {
  return `${api}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}

/** Makes an error that ends the command in the same way as a refusal of the API server. */
export function refused(message: string, status = 0, reason = ''): RefusedError {
  return new RefusedError({ kind: 'refused', status, reason, message, retryAfter: undefined });
}
