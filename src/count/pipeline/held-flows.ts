/** Holds flows of connections that failed, until they are judged. */
import { flowKey } from '../../base/model/flow-identity.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { createHolders } from '../../base/platform/holders.ts';
import type { QueuedFlow } from './lookup-queue.ts';

export interface HeldFlow extends QueuedFlow {
  observation: PacketObservation;
  /** The uid of the Pod whose cgroup has the sockets. */
  pod: string;
  sourcePorts: Set<number | undefined>;
  /** How often it was judged while policies or an owner were not known yet, or without time for the policies. */
  tries: number;
}

export interface HeldFlows {
  readonly size: number;
  /** Returns false if there is no room. */
  take: (flow: HeldFlow) => boolean;
  /** The uids of Pods that have flows. */
  readonly pods: Iterable<string>;
  /** Takes out the oldest flow of the Pod, if it is held since `latest` or longer. */
  takeOldestOf: (pod: string, latest: Millis) => HeldFlow | undefined;
}

const most = { flows: 4096, flowsOfPod: 128, sourcePorts: 64 };

/**
 * The room is shared, so that no Pod fills it with connections to thousands of ports. If it is full, the Pod that has the most loses its own
 * oldest flow. `onDisplaced`: takes that flow.
 */
export function createHeldFlows(onDisplaced: (flow: HeldFlow) => void): HeldFlows {
  const held = new Map<string, HeldFlow>();
  const pods = createHolders();
  return {
    get size(): number {
      return held.size;
    },
    take(flow) {
      const key = keyOf(flow);
      const known = held.get(key);
      if (known !== undefined) {
        join(known, flow);
        return true;
      }
      const ofPod = pods.sizeOf(flow.pod);
      if (ofPod >= most.flowsOfPod || (held.size >= most.flows && !displace(ofPod + 1))) return false;
      held.set(key, flow);
      pods.add(key, flow.pod);
      return true;
    },
    get pods(): Iterable<string> {
      return pods.all;
    },
    takeOldestOf(pod, latest) {
      const key = pods.oldestOf(pod) ?? '';
      const flow = held.get(key);
      if (flow === undefined || flow.since > latest) return undefined;
      remove(key);
      return flow;
    },
  };

  function displace(size: number): boolean {
    const key = pods.oldestOfLargest(size);
    const flow = key === undefined ? undefined : held.get(key);
    if (key === undefined || flow === undefined) return false;
    remove(key);
    onDisplaced(flow);
    return true;
  }

  function remove(key: string): void {
    held.delete(key);
    pods.remove(key);
  }
}

/** A Pod may send from any address, so one address does not make its connections those of another Pod. */
function keyOf({ pod, observation }: HeldFlow): string {
  return `${pod} ${flowKey(observation)}`;
}

function join(flow: HeldFlow, { weight, first, last, sourcePorts }: HeldFlow): void {
  flow.weight += weight;
  flow.first = Math.min(flow.first, first);
  flow.last = Math.max(flow.last, last);
  for (const port of sourcePorts) if (flow.sourcePorts.size < most.sourcePorts) flow.sourcePorts.add(port);
}
