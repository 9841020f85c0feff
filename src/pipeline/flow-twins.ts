import { LRUCache } from 'lru-cache';
import type { Finding } from '../model/finding.ts';
import type { Millis } from '../model/log-line.ts';
import { generateNameOf } from '../resolving/pod-index.ts';

/** A flow comes at the end of its interval, which is five minutes by default. */
const longestInterval: Millis = 600_000;
const places = 4096;

export type FlowTwins = ReturnType<typeof createFlowTwins>;

/**
 * Calico may tell of a packet twice: by a LOG line at once, and by a flow at the end of an interval. As many packets of a flow as lines have
 * shown are passed over; what a limit kept out of the log counts. A flow has no addresses, so the peer is not compared. In memory only: of a
 * packet whose line and flow are parted by a restart, both count.
 */
export function createFlowTwins(hasFlows = false) {
  const logged = new LRUCache<string, { packets: number; time: Millis }>({ max: places });

  return {
    /** Remembers packets that were counted. It costs nothing where there are no flows. */
    note(findings: readonly Finding[], packets: number, time: Millis): void {
      if (!hasFlows) return;
      for (const finding of findings) {
        const key = keyOf(finding);
        if (key === undefined || isFlow(finding)) continue;
        const known = logged.get(key);
        if (known === undefined) logged.set(key, { packets, time });
        else {
          known.packets += packets;
          known.time = time;
        }
      }
    },
    /** Returns how many packets are to be counted. */
    uncounted(findings: readonly Finding[], packets: number, time: Millis): number {
      const [finding] = findings;
      if (finding === undefined || !isFlow(finding)) return packets;
      hasFlows = true;
      const key = keyOf(finding);
      const known = key === undefined ? undefined : logged.get(key);
      if (known === undefined || Math.abs(known.time - time) > longestInterval) return packets;
      const counted = Math.min(known.packets, packets);
      known.packets -= counted;
      return packets - counted;
    },
  };
}

function isFlow({ details }: Finding): boolean {
  return details.kind === 'flow' && details.logger === 'calico-flow';
}

/** The end whose policies decided, as far as a flow shows it: the workload, not the Pod. */
function keyOf({ regarding, details, node }: Finding): string | undefined {
  if (details.kind !== 'flow' || details.enforcer !== 'network-policy') return undefined;
  const { direction, refusedBy, protocol, port } = details;
  if (refusedBy !== undefined && (refusedBy === 'receiver') !== (direction === 'receiving')) return undefined;
  return [regarding.namespace, generateNameOf(regarding.name), node, direction, protocol, port].join('|');
}
