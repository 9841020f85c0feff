import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';

export interface AffectedPod {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  hostNetwork: boolean;
  running: boolean;
  problem: 'restarting' | 'unready' | undefined;
}

export interface NotifiedPod {
  object: ObjectRef;
  /** The Pod was restarting or unready when it was notified. */
  unhealthy: boolean;
  at: Millis;
}

/** The most Pods that are notified of one incident. The Node's Events count all of them. */
export const podNoticeLimit = 20;
/**
 * Unhealthy Pods are notified soon, because somebody is probably looking at them. Others follow over minutes, because all nodes may send
 * notices at once.
 */
const unhealthySpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** How long the API server keeps an Event. */
const lifetime: Millis = 3_600_000;

/** Sorts unhealthy Pods first and the others by uid, so that nodes do not all begin with the same Pods. */
export function affectedPodsOf(pods: readonly AffectedPod[]): AffectedPod[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

export interface NextPodNotice {
  pod: AffectedPod;
  at: Millis;
  /** The uid of a deleted Pod that the new one replaces in the list. */
  inPlaceOf: string | undefined;
}

/**
 * Returns undefined if all Pods are notified. Deleted Pods stay in the list for an hour, so that Pods that are replaced all the time do not
 * cause more and more Events.
 */
export function nextPodNotice(
  affectedPods: readonly AffectedPod[],
  notifiedPods: Readonly<Record<string, NotifiedPod>>,
  since: Millis,
): NextPodNotice | undefined {
  const notified = Object.entries(notifiedPods);
  const latest = notified.reduce((last, [, { at }]) => Math.max(last, at), since);
  const first = affectedPods.find(({ uid }) => notifiedPods[uid] === undefined);
  const at = latest + (first?.problem === undefined ? spacing : unhealthySpacing);
  if (first !== undefined && notified.length < podNoticeLimit) return { pod: first, at, inPlaceOf: undefined };
  const here = new Map(affectedPods.map((pod) => [pod.uid, pod]));
  const steps = notified.flatMap(([uid, { at: before }]): NextPodNotice[] => {
    const pod = here.get(uid);
    if (pod !== undefined) return [{ pod, at: Math.max(before + lifetime, latest + spacing), inPlaceOf: undefined }];
    return first === undefined ? [] : [{ pod: first, at: Math.max(before + lifetime, at), inPlaceOf: uid }];
  });
  return steps.toSorted((a, b) => a.at - b.at)[0];
}

function rank({ problem }: AffectedPod): number {
  if (problem === 'restarting') return 0;
  return problem === 'unready' ? 1 : 2;
}
