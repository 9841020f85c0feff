import { isSubdomain } from '../platform/api-names.ts';
import { at, type Json, spelled } from '../platform/json.ts';
import type { Clock } from '../platform/clock.ts';
import { podFromRecord, podRecordOf } from '../resolving/pod-record.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';

/** Pods of one address in an answer: one that has it, and those that had it in the last ten minutes. */
export const podLimit = 8;

/** Bytes of an answer; eight Pods with the longest names are about 24 KB. */
export const answerLimit = 65_536;

/** What goes over the wire, of those who have an address or had it: those who have it first, then the latest. */
export function encodeAnswer({ pods, node }: Owners, { toWall }: Pick<Clock, 'toWall'>): string {
  const latest = pods.toSorted((a, b) => Math.sign(b.until - a.until) || b.from - a.from).slice(0, podLimit);
  const records = latest.map((pod) =>
    Object.assign(podRecordOf(pod, toWall), { resourceVersion: pod.resourceVersion }),
  );
  return JSON.stringify({ node, pods: records });
}

/**
 * An answer as it may be believed: names that an API server would accept, at most as many as are asked for, and of the address that
 * was asked for. Whether there is such a Pod only the API server knows. Throws for anything else.
 */
export function decodeAnswer(text: string, address: string, { fromWall }: Pick<Clock, 'fromWall'>): Owners {
  const answer: Json = JSON.parse(text);
  const pods = at(answer, 'pods');
  if (!Array.isArray(pods)) throw new Error('the answer has no Pods');
  return {
    pods: pods.slice(0, podLimit).flatMap((pod: Json) => {
      const found = podFromRecord(pod, fromWall);
      return found?.addresses.includes(address) === true ? [found] : [];
    }),
    node: spelled(at(answer, 'node'), isSubdomain),
  };
}
