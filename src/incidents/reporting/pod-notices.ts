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
  /** It was restarting or unready. */
  unhealthy: boolean;
  at: Millis;
}

/** The most Pods that are notified of one incident; the Events of the Node count all. */
export const podNoticeLimit = 20;
/** Somebody is looking at unhealthy Pods, so they are notified soon; others over minutes, as on all other nodes. */
const unhealthySpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** The API server keeps an Event for an hour. */
const lifetime: Millis = 3_600_000;

/** Unhealthy Pods first, the others by uid, so that nodes do not share an order. */
export function affectedPodsOf(pods: readonly AffectedPod[]): AffectedPod[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

/** The Pod that is notified next. */
export interface NextPodNotice {
  pod: AffectedPod;
  at: Millis;
  /** Uid of a Pod that is gone and forgotten for it. */
  inPlaceOf: string | undefined;
}

/** Undefined if all are notified. Gone Pods count for an hour, so that Pods that are replaced all the time make no Events. */
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
