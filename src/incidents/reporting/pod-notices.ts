import type { ObjectRef } from '../../model/endpoint.ts';
import type { Millis } from '../../model/log-line.ts';

/** A Pod of this node, as far as incidents go. */
export interface AffectedPod {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string | undefined;
  hostNetwork: boolean;
  running: boolean;
  problem: 'restarting' | 'unready' | undefined;
}

/** A Pod with a notice of an incident. Plain JSON. */
export interface NotifiedPod {
  object: ObjectRef;
  /** It was restarting or unready. */
  unhealthy: boolean;
  at: Millis;
}

/** Pods of one incident that are notified. Past that they are only counted, in the Events on the Node. */
export const podNoticeLimit = 20;
/** Pods that restart or are unready are notified first and soon: people are looking at them. The others over minutes, as on all other nodes. */
const unhealthySpacing: Millis = 1000;
const spacing: Millis = 15_000;
/** An Event is gone from the API server after an hour. */
const lifetime: Millis = 3_600_000;

/** Pods that an incident affects, restarting and unready ones first; the order of the others is no order that all nodes share. */
export function affectedPodsOf(pods: readonly AffectedPod[]): AffectedPod[] {
  return pods
    .filter(({ hostNetwork, running }) => running && !hostNetwork)
    .toSorted((a, b) => rank(a) - rank(b) || (a.uid < b.uid ? -1 : 1));
}

/** The Pod that is notified next. */
export interface NextPodNotice {
  pod: AffectedPod;
  /** The earliest time. */
  at: Millis;
  /** Uid of one that was notified and is not affected any more, which is forgotten for it. */
  inPlaceOf: string | undefined;
}

/** Undefined when all have notices. Gone Pods keep their place for an hour: Pods replaced all the time must not make Events. */
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
