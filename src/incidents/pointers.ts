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

/** A Pod that is pointed to an incident next. */
export interface Pointer {
  pod: Sufferer;
  /** At the earliest. */
  at: Millis;
  /** Uid of one that was pointed and does not suffer any more, which is forgotten for it. */
  inPlaceOf: string | undefined;
}

/**
 * The next Pod to be pointed to an incident. `pointed`: those that were, in order. Undefined: all that may be told are. What is gone
 * keeps its place for an hour: a Pod that is made anew all the time must not be told all the time.
 */
export function nextPointer(
  sufferers: readonly Sufferer[],
  pointed: Readonly<Record<string, Pointed>>,
  since: Millis,
): Pointer | undefined {
  const told = Object.entries(pointed);
  const latest = told.reduce((last, [, { at }]) => Math.max(last, at), since);
  const anew = sufferers.find(({ uid }) => pointed[uid] === undefined);
  const at = latest + (anew?.trouble === undefined ? spacing : troubledSpacing);
  if (anew !== undefined && told.length < pointerLimit) return { pod: anew, at, inPlaceOf: undefined };
  const here = new Map(sufferers.map((pod) => [pod.uid, pod]));
  const steps = told.flatMap(([uid, { at: before }]): Pointer[] => {
    const pod = here.get(uid);
    if (pod !== undefined) return [{ pod, at: Math.max(before + lifetime, latest + spacing), inPlaceOf: undefined }];
    return anew === undefined ? [] : [{ pod: anew, at: Math.max(before + lifetime, at), inPlaceOf: uid }];
  });
  const [first] = steps.toSorted((a, b) => a.at - b.at);
  return first;
}

function rank({ trouble }: Sufferer): number {
  if (trouble === 'restarting') return 0;
  return trouble === 'unready' ? 1 : 2;
}
