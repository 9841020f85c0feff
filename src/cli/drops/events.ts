import { setTimeout as delay } from 'node:timers/promises';
import { component } from '../../publish/events/events.ts';
import { listAll, refusalOfError, RefusedError, watchEvents } from '../../agent/kubernetes/kubernetes.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createBackOff } from '../../base/platform/rates.ts';
import { at, type Json, text } from '../../base/platform/json.ts';
import type { ClusterOptions } from '../options/cluster-options.ts';
import type { DropsOptions } from '../options/drops-options.ts';
import { lastOf, nodeOfEvent, dropRowOf } from './drop-row.ts';
import { createFilter, type FlowFilter } from './filters.ts';
import { type PodSet, selectedPods } from './selected-pods.ts';
import { apiPath, type Cluster, connectAsUser, refused } from './user-cluster.ts';

/** The requested Events. */
type EventOptions = Pick<DropsOptions, keyof ClusterOptions | 'target' | 'filters'> &
  Partial<Pick<DropsOptions, 'selector' | 'node' | 'all'>>;

export interface EventQuery extends Cluster {
  readonly options: EventOptions;
  /** Undefined if Events of all objects are wanted. */
  readonly pods?: PodSet | undefined;
  readonly filter: FlowFilter;
}

/** The fields that are kept of an Event, and its identity. */
export interface ListedEvent<Kept> {
  readonly key: string;
  /** Changes with each write of the Event. */
  readonly state: string;
  readonly last: Millis;
  readonly kept: Kept;
}

export interface EventList<Kept> {
  /** The newest Event is last. */
  readonly events: readonly ListedEvent<Kept>[];
  /** How many Events the filter has left out. */
  readonly leftOut: number;
  readonly resourceVersion: string;
}

/** Rejects with a `RefusedError`. */
export async function createQuery(options: EventOptions): Promise<EventQuery> {
  const cluster = connectAsUser(options);
  const [pods, filter] = [await selectedPods(cluster, options), await createFilter(cluster, options.filters)];
  return { ...cluster, options, pods, filter };
}

const pageSize = 500;
/** The API server ends a watch after this time, so that a dead connection is noticed. */
const watchFor: Millis = 240_000;

/** `keep` copies only the needed fields of an Event, because a cluster may have many. */
export async function listDrops<Kept>(wanted: EventQuery, keep: (event: Json) => Kept): Promise<EventList<Kept>> {
  const { connection, namespace, options } = wanted;
  let leftOut = 0;
  const { items, resourceVersion } = await listAll(
    connection,
    apiPath('/api/v1', namespace, 'events'),
    { fieldSelector: fieldSelectorOf(options), pageSize },
    (item): ListedEvent<Kept> | undefined => {
      const event = { apiVersion: 'v1', kind: 'Event', ...withoutManagers(item) };
      if (!isAskedFor(event, wanted)) return undefined;
      if (wanted.filter.matches(dropRowOf(event))) return listed(event, keep(event));
      leftOut++;
      return undefined;
    },
  );
  return { events: items.toSorted(byLast), leftOut, resourceVersion };
}

function listed<Kept>(event: Json, kept: Kept): ListedEvent<Kept> {
  const last = lastOf(event) ?? 0;
  return { key: keyOf(event), state: `${last} ${String(at(event, 'count'))}`, last, kept };
}

/** Never ends. `tell` gets a line when the watch breaks, and when it works again. Throws a `RefusedError` for 401 and 403. */
export async function* watchDrops(
  wanted: EventQuery,
  { events, resourceVersion: begun }: Pick<EventList<unknown>, 'events' | 'resourceVersion'>,
  tell: (line: string) => void,
): AsyncGenerator<Json, void> {
  let shown = new Map(events.map(({ key, state }) => [key, state]));
  let position: string | undefined = begun;
  let isBroken = false;
  const pauses = createBackOff({ first: 1000, longest: 30_000 }, Math.random);
  for (;;) {
    try {
      if (position === undefined) {
        const again = await listDrops(wanted, (event) => event);
        for (const event of again.events) if (isUnseen(event)) yield event.kept;
        // Events that were deleted meanwhile are forgotten.
        shown = new Map(again.events.map(({ key, state }) => [key, state]));
        position = again.resourceVersion;
      }
      for await (const { type, object } of changes(wanted, position)) {
        if (isBroken) tell('The watch works again.');
        isBroken = false;
        if (type === 'BEGUN') continue;
        pauses.reset();
        position = text(at(object, 'metadata', 'resourceVersion')) ?? position;
        if (type === 'DELETED') shown.delete(keyOf(object));
        else if (type !== 'BOOKMARK' && (await isNowAskedFor(object, wanted)) && isUnseen(listed(object, undefined)))
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
  function isUnseen({ key, state }: Pick<ListedEvent<unknown>, 'key' | 'state'>): boolean {
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
function fieldSelectorOf({ all = false, target }: EventOptions): string {
  const parts = [`source=${component}`, ...(all ? [] : ['reason=PacketDrop'])];
  if (target?.kind === 'Pod') parts.push('involvedObject.kind=Pod', `involvedObject.name=${target.name}`);
  return parts.join(',');
}

function isAskedFor(
  event: Json,
  {
    options: {
      node,
      filters: { since },
    },
    pods,
  }: EventQuery,
): boolean {
  if (node !== undefined && nodeOfEvent(event) !== node) return false;
  if (since !== undefined && (lastOf(event) ?? 0) < Date.now() - since) return false;
  return pods === undefined || pods.has(...podIn(event));
}

/** Pods may have come since the start. */
async function isNowAskedFor(event: Json, wanted: EventQuery): Promise<boolean> {
  await wanted.pods?.learn(...podIn(event));
  if (!isAskedFor(event, wanted)) return false;
  const row = dropRowOf(event);
  await wanted.filter.learn(row);
  return wanted.filter.matches(row);
}

function podIn(event: Json): [namespace: string, pod: string] {
  const of = (key: string): string => text(at(event, 'involvedObject', key)) ?? '';
  return of('kind') === 'Pod' ? [of('namespace'), of('name')] : ['', ''];
}

function keyOf(event: Json): string {
  return `${text(at(event, 'metadata', 'namespace')) ?? ''}/${text(at(event, 'metadata', 'name')) ?? ''}`;
}

function byLast(a: ListedEvent<unknown>, b: ListedEvent<unknown>): number {
  return a.last - b.last || (a.key < b.key ? -1 : 1);
}

function withoutManagers(event: Json): object {
  const metadata = at(event, 'metadata');
  if (typeof metadata !== 'object' || metadata === null) return { ...(event as object) };
  const { managedFields: _, ...rest } = metadata as { managedFields?: Json };
  return { ...(event as object), metadata: rest };
}
