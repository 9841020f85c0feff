import type { Millis } from '../model/log-line.ts';
import type { Pod } from './objects.ts';
import { type PodIndex, slack } from './pod-index.ts';

/** When a packet was seen; an inexact time does not decide between Pods unless it must. */
export interface Moment {
  time: Millis;
  exact: boolean;
}

/** Names hold 44 bits of a hash: of two Pods with one name it is that with the address, else the only one with any address. */
export function ownerOf(index: PodIndex, name: string, address: string, at: Moment): Pod | undefined {
  const named = index.byInterface(name);
  if (named === undefined || isOne(named)) return holder(named, at);
  const own = named.filter((pod) => isOwn(index, pod, address, at));
  const addressed = named.filter(({ addresses }) => addresses.length > 0);
  return holder(own, at) ?? (isOne(addressed) ? holder(addressed, at) : undefined);
}

/** Whether a Pod has the address, or had it then. */
export function isOwn(index: PodIndex, { addresses, uid }: Pod, address: string, at: Moment): boolean {
  return addresses.includes(address) || hadThen(index.byAddress(address), uid, at);
}

/** Whether all are of one name, one after the other. */
function isOne(pods: readonly Pod[]): boolean {
  if (pods.length === 1) return true;
  return pods.every(({ namespace, name }) => namespace === pods[0]?.namespace && name === pods[0].name);
}

/** The Pod that held the address then, by the API's clock if any did, else within what clocks may differ. */
export function holder(pods: readonly Pod[] | undefined, { time, exact }: Moment): Pod | undefined {
  if (pods === undefined) return undefined;
  if (!exact) {
    const last = pods.find(({ until }) => until === Infinity);
    if (last !== undefined && pods.every((pod) => pod === last || (pod.uid !== '' && pod.uid === last.uid)))
      return last;
  }
  return holderAt(pods, time, 0) ?? holderAt(pods, time, slack);
}

/** A Pod starts before it gets its addresses, but keeps them to its end: of two that seem to have one, it is the first to end. */
function holderAt(pods: readonly Pod[], time: Millis, early: Millis): Pod | undefined {
  let found: Pod | undefined;
  for (const pod of pods) {
    if (time < pod.from - early || time >= pod.until || pod.until <= pod.from) continue;
    if (found === undefined || pod.until < found.until || (pod.until === found.until && pod.from > found.from))
      found = pod;
  }
  return found;
}

function hadThen(pods: readonly Pod[] | undefined, uid: string, { time, exact }: Moment): boolean {
  return pods?.some((pod) => pod.uid === uid && (!exact || (time >= pod.from - slack && time < pod.until))) === true;
}
