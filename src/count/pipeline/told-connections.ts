/** Remembers of which connections and flows of Pods other lines tell. */
import type { Finding } from '../../base/model/finding.ts';
import type { Millis } from '../../base/model/log-line.ts';
import type { PacketObservation } from '../../base/model/packet.ts';
import { RecentValues } from '../../base/platform/recent-values.ts';
import type { Decision } from './decision.ts';

/** How long the kernel tries by default (net.ipv4.tcp_syn_retries), 127 seconds, and some more. */
const longestTry: Millis = 150_000;
/** Calico tells of flows at the end of an interval. */
const longestInterval: Millis = 600_000;
const most = { senders: 4096, toldOfSender: 256 };

/** Connections of a Pod to the same port that failed. */
export interface FailedConnections {
  readonly observation: PacketObservation;
  readonly sourcePorts: ReadonlySet<number | undefined>;
  readonly last: Millis;
}

export interface Told {
  /** Notes what this line tells of. */
  note: (decision: Decision | undefined, time: Millis) => void;
  /** Returns whether other lines told of any of the connections. `meanings`: what these mean for each Pod that they may have been for. */
  has: (failed: FailedConnections, meanings: readonly { finding: Finding }[]) => boolean;
}

/** Each sender has its own room, so that no Pod pushes out another's. */
export function createTold(): Told {
  /** By the address of a sender, or its uid. */
  const told = new RecentValues<RecentValues<Millis>>(most.senders);
  return {
    note(decision, time): void {
      if (decision?.kind !== 'drop' && decision?.kind !== 'twin') return;
      const { observation } = decision;
      if (observation.kind !== 'packet') return;
      const { source, sourcePort } = observation.packet;
      if (decision.kind === 'twin') {
        // Its first line has told whether a Pod sent it.
        if (sourcePort !== undefined && told.get(source) !== undefined) set(source, connectionKey(sourcePort), time);
        return;
      }
      const { meaning } = decision;
      if (meaning.ends.source.kind !== 'pod') return;
      if (sourcePort !== undefined) set(source, connectionKey(sourcePort), time);
      if (observation.logger !== 'calico-flow') return;
      for (const { regarding, details } of meaning.findings)
        if (details.kind === 'flow' && details.direction === 'sending')
          set(regarding.uid, flowKeyOf(details.port), time);
    },
    has({ observation, sourcePorts, last }, meanings): boolean {
      const wasTold = (sender: string, key: string, within: Millis): boolean =>
        last - (told.get(sender)?.get(key) ?? -Infinity) <= within;
      return (
        [...sourcePorts].some((port) => wasTold(observation.packet.source, connectionKey(port), longestTry)) ||
        meanings.some(
          ({ finding: { regarding, details } }) =>
            details.kind === 'flow' && wasTold(regarding.uid, flowKeyOf(details.port), longestInterval),
        )
      );
    },
  };

  function set(sender: string, key: string, time: Millis): void {
    const ofSender = told.get(sender) ?? new RecentValues<Millis>(most.toldOfSender);
    ofSender.set(key, time);
    told.set(sender, ofSender);
  }
}

/** A Service's address is translated, so other lines have another destination. */
function connectionKey(sourcePort: number | undefined): string {
  return `from ${sourcePort}`;
}

function flowKeyOf(port: number | undefined): string {
  return `to ${port}`;
}
