/** Remembers the connections and flows of Pods that other lines report. */
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import type { Decision } from './decision.ts';
import type { FlowMeaning } from './meaning.ts';

/** A little longer than the kernel tries by default (net.ipv4.tcp_syn_retries): 127 seconds. */
const longestTry: Millis = 150_000;
/** Calico reports flows at the end of an interval. */
const longestInterval: Millis = 600_000;
/** A node seldom has more than 250 Pods. */
const most = { senders: 512, toldOfSender: 1024 };

/** Connections of a Pod to the same port that failed. */
export interface FailedConnections {
  readonly observation: PacketObservation;
  /** The uid of the Pod. */
  readonly pod: string;
  readonly sourcePorts: ReadonlySet<number | undefined>;
  readonly last: Millis;
}

export interface ReportedConnections {
  /** Notes the connection that this line reports. */
  note: (decision: Decision | undefined, time: Millis) => void;
  /** Returns whether other lines told of any of the connections. `targets`: the same connections to each Pod that they may have been for. */
  has: (failed: FailedConnections, targets: readonly PacketObservation[]) => boolean;
}

/**
 * Each sender has its own room, so that no Pod pushes out another's. The sender is the Pod behind the interface, if the line names one,
 * because anybody may use the source address.
 */
export function createReportedConnections(): ReportedConnections {
  /** By the uid of a Pod of this node. */
  const ofPods = new RecentValues<RecentValues<Millis>>(most.senders);
  /** By the address, as long as its owner is not known: the list of Pods may come later than the first packet. */
  const ofAddresses = new RecentValues<RecentValues<Millis>>(most.senders);
  return {
    note(decision, time): void {
      // A second line of a packet, a twin, has the source port of the first one.
      if (decision?.kind !== 'drop' || decision.observation.kind !== 'packet') return;
      const { observation, meaning } = decision;
      const { sourcePort } = observation.packet;
      if (sourcePort !== undefined) noteSender(meaning, connectionKey(sourcePort), time);
      if (observation.logger !== 'calico-flow') return;
      for (const { regarding, details } of meaning.findings)
        if (details.kind === 'flow' && details.direction === 'sending')
          set(ofPods, regarding.uid, flowKeyOf(details.port), time);
    },
    has({ observation, pod, sourcePorts, last }, targets): boolean {
      const senders = [ofPods.get(pod), ofAddresses.get(observation.packet.source)];
      const wasTold = (key: string, within: Millis): boolean =>
        senders.some((ofSender) => last - (ofSender?.get(key) ?? -Infinity) <= within);
      return (
        [...sourcePorts].some((port) => wasTold(connectionKey(port), longestTry)) ||
        targets.some(({ packet }) => wasTold(flowKeyOf(packet.destinationPort), longestInterval))
      );
    },
  };

  function noteSender({ ends: { source }, node }: FlowMeaning, key: string, time: Millis): void {
    const { kind, object, range, address } = source;
    // Connections that failed are of this node's Pods only.
    if (kind === 'pod' && (node === '' || source.node === undefined || source.node === node))
      set(ofPods, object?.uid ?? '', key, time);
    else if (kind === 'unknown' || (kind === 'external' && range === 'private')) set(ofAddresses, address, key, time);
  }
}

function set(told: RecentValues<RecentValues<Millis>>, sender: string, key: string, time: Millis): void {
  const ofSender = told.get(sender) ?? new RecentValues<Millis>(most.toldOfSender);
  ofSender.set(key, time);
  told.set(sender, ofSender);
}

/** A Service's address is translated, so other lines have another destination. */
function connectionKey(sourcePort: number | undefined): string {
  return `from ${sourcePort}`;
}

function flowKeyOf(port: number | undefined): string {
  return `to ${port}`;
}
