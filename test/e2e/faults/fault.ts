import type { AgentProcess } from '../agent-process.ts';
import type { AgentRig, StoredEvent } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { WallClock } from './wall-clock.ts';
import type { Disk } from './disk.ts';
import type { FaultProxy } from './proxy.ts';

/**
 * One row of the suite. An agent with a node of its own reads a log. Lines are written before the fault, while it
 * lasts, and after it. At the end, the counts of all Events must equal the written lines. The agent must have logged
 * one line when the fault began, and one when it was over.
 */
export interface Fault {
  /** Names the case even when read alone. */
  readonly title: string;
  readonly begin: (scene: Scene) => unknown;
  /** Resolves when the fault has lasted long enough. */
  readonly lasts?: ((scene: Scene) => Promise<unknown>) | undefined;
  readonly end?: (scene: Scene) => unknown;
  /** The names that the log has for the fault (`problem`); nothing else is logged as a warning or an error. */
  readonly problems: readonly string[];
  /** Beginnings of the names of other problems that may also be logged, because a loaded machine may cause them. */
  readonly tolerated?: readonly string[];
  /** Whether Events of the first namespace are still written, within 40 s, while the fault lasts. */
  readonly goesOn?: boolean;
  /** Packets that no Event counts, as documented. */
  readonly lost?: Readonly<Partial<Record<PodName, number>>>;
  /** Checks the Events when all counts are right. */
  readonly check?: (scene: Scene, events: readonly StoredEvent[]) => unknown;
  /** Settings of the agent in addition to the usual ones; called before it starts. */
  readonly settings?: (scene: Scene) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** The state is on a disk of its own. */
  readonly disk?: true;
  /** The node has a wall clock of its own. */
  readonly clock?: true;
  /** An API server and an etcd of its own, which `scene.order` stops. */
  readonly own?: true;
}

/**
 * Rows of one kind. `name`: of their nodes and namespaces; `subnet`: of their Pods, such as `10.110`. No other kind has
 * the same.
 */
export interface FaultRows {
  readonly name: string;
  readonly subnet: string;
  readonly rows: readonly Fault[];
}

/**
 * `steady` has drops in every phase. `other` is in another namespace and, like `during`, has them while the fault
 * lasts.
 */
export type PodName = 'steady' | 'before' | 'during' | 'after' | 'other';

export const pods: readonly PodName[] = ['steady', 'before', 'during', 'after', 'other'];

export interface Scene {
  readonly controlPlane: Connection;
  /** Gives an order to the row's own control plane. */
  readonly order: ControlPlane['order'];
  /** The proxy between the agent and the API server. */
  readonly proxy: FaultProxy;
  readonly rig: AgentRig;
  /** Undefined until it is started. */
  readonly agent: AgentProcess;
  readonly node: string;
  readonly namespace: string;
  readonly otherNamespace: string;
  /** Path of the agent's kubeconfig. */
  readonly kubeconfig: string;
  /** The folder of the agent's state. */
  readonly stateDir: string;
  readonly disk: Disk;
  readonly clock: WallClock;
  /** Appends log lines of dropped packets to a Pod; resolves when the agent has counted them. */
  readonly drop: (pod: PodName, lines: number) => Promise<void>;
  /** Resolves when a scrape has a line that matches. */
  readonly untilMetric: (line: RegExp) => Promise<void>;
}
