import type { Millis, ObjectRef } from '../model.ts';

/** A Pod of this node, as far as it matters here. */
export interface Sufferer {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  hostNetwork: boolean;
  running: boolean;
  trouble: 'restarting' | 'unready' | undefined;
}

/** Pods that have been pointed to an incident, by uid. Plain JSON. */
export interface Pointed {
  object: ObjectRef;
  /** In trouble of its own. */
  troubled: boolean;
  at: Millis;
}

/** Pods of one incident that are told. Past that they are only counted, in the Events on the Node. */
export const pointerLimit = 20;
/** Pods in trouble are told first and soon: somebody is looking at them. The others over minutes, with all other nodes. */
const troubledSpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** An Event is gone from the API server after an hour. */
const lifetime: Millis = 3_600_000;

/** Pods that an incident hits, those in trouble first; the order of the others is no order that all nodes share. */
export function sufferersOf(pods: readonly Sufferer[]): Sufferer[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

/**
 * The next Pod to be pointed to an incident, and when at the earliest. `pointed`: those that were, in order. Undefined: all that
 * may be told are.
 */
export function nextPointer(
  sufferers: readonly Sufferer[],
  pointed: Readonly<Record<string, Pointed>>,
  since: Millis,
): { pod: Sufferer; at: Millis } | undefined {
  const told = Object.values(pointed);
  const latest = told.reduce((last, { at }) => Math.max(last, at), since);
  const isFull = told.length >= pointerLimit;
  const pod = sufferers.find(({ uid }) => !isFull && pointed[uid] === undefined);
  if (pod !== undefined) return { pod, at: latest + (pod.trouble === undefined ? spacing : troubledSpacing) };
  const [oldest] = sufferers.flatMap(({ uid }) => pointed[uid]?.at ?? []).toSorted((a, b) => a - b);
  const again = sufferers.find(({ uid }) => oldest !== undefined && pointed[uid]?.at === oldest);
  if (again === undefined || oldest === undefined) return undefined;
  return { pod: again, at: Math.max(oldest + lifetime, latest + spacing) };
}

function rank({ trouble }: Sufferer): number {
  if (trouble === 'restarting') return 0;
  return trouble === 'unready' ? 1 : 2;
}
