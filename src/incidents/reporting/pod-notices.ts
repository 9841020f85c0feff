import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';

/** A Pod of this node, as far as it matters here. */
export interface AffectedPod {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  hostNetwork: boolean;
  running: boolean;
  trouble: 'restarting' | 'unready' | undefined;
}

/** Pods that have been pointed to an incident, by uid. Plain JSON. */
export interface NotifiedPod {
  object: ObjectRef;
  /** In trouble of its own. */
  troubled: boolean;
  at: Millis;
}

/** Pods of one incident that are told. Past that they are only counted, in the Events on the Node. */
export const podNoticeLimit = 20;
/** Pods in trouble are told first and soon: somebody is looking at them. The others over minutes, with all other nodes. */
const troubledSpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** An Event is gone from the API server after an hour. */
const lifetime: Millis = 3_600_000;

/** Pods that an incident hits, those in trouble first; the order of the others is no order that all nodes share. */
export function affectedPodsOf(pods: readonly AffectedPod[]): AffectedPod[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

/** A Pod that is pointed to an incident next. */
export interface NextPodNotice {
  pod: AffectedPod;
  /** At the earliest. */
  at: Millis;
  /** Uid of one that was pointed and does not suffer any more, which is forgotten for it. */
  inPlaceOf: string | undefined;
}

/**
 * The next Pod to be pointed to an incident. `notifiedPods`: those that were, in order. Undefined: all that may be told are. What is gone
 * keeps its place for an hour: a Pod that is made anew all the time must not be told all the time.
 */
export function nextPodNotice(
  affectedPods: readonly AffectedPod[],
  notifiedPods: Readonly<Record<string, NotifiedPod>>,
  since: Millis,
): NextPodNotice | undefined {
  const told = Object.entries(notifiedPods);
  const latest = told.reduce((last, [, { at }]) => Math.max(last, at), since);
  const anew = affectedPods.find(({ uid }) => notifiedPods[uid] === undefined);
  const at = latest + (anew?.trouble === undefined ? spacing : troubledSpacing);
  if (anew !== undefined && told.length < podNoticeLimit) return { pod: anew, at, inPlaceOf: undefined };
  const here = new Map(affectedPods.map((pod) => [pod.uid, pod]));
  const steps = told.flatMap(([uid, { at: before }]): NextPodNotice[] => {
    const pod = here.get(uid);
    if (pod !== undefined) return [{ pod, at: Math.max(before + lifetime, latest + spacing), inPlaceOf: undefined }];
    return anew === undefined ? [] : [{ pod: anew, at: Math.max(before + lifetime, at), inPlaceOf: uid }];
  });
  const [first] = steps.toSorted((a, b) => a.at - b.at);
  return first;
}

function rank({ trouble }: AffectedPod): number {
  if (trouble === 'restarting') return 0;
  return trouble === 'unready' ? 1 : 2;
}
