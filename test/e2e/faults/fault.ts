import type { AgentProcess } from '../agent-process.ts';
import type { AgentRig, StoredEvent } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { WallClock } from './wall-clock.ts';
import type { Disk } from './disk.ts';
import type { FaultProxy } from './proxy.ts';

/**
 * One row of the suite. An agent with a node of its own reads a log. Lines are written before the fault, while it lasts, and after it;
 * at the end the counts of all Events are the lines that were written, and the agent has logged one line when the fault began and one
 * when it was over.
 */
export interface Fault {
  /** Says the case when read alone. */
  readonly title: string;
  readonly begin: (scene: Scene) => unknown;
  /** It has lasted long enough when this resolves. */
  readonly lasts?: ((scene: Scene) => Promise<unknown>) | undefined;
  readonly end?: (scene: Scene) => unknown;
  /** The log's names for it (`problem`); nothing else is logged as a warning or an error. */
  readonly problems: readonly string[];
  /** Beginnings of the names of others that a loaded machine may bring about, and that are logged then. */
  readonly tolerated?: readonly string[];
  /** While it lasts, the Events of the first namespace are written within 40 s. */
  readonly goesOn?: boolean;
  /** Packets that no Event counts, as documented. */
  readonly lost?: Readonly<Partial<Record<PodName, number>>>;
  /** Looks at the Events when all counts are right. */
  readonly check?: (scene: Scene, events: readonly StoredEvent[]) => unknown;
  /** Settings of the agent beside the usual ones; asked for before it starts. */
  readonly settings?: (scene: Scene) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** The state is on a disk of its own. */
  readonly disk?: true;
  /** The node has a wall clock of its own. */
  readonly clock?: true;
  /** An API server and an etcd of its own, which `scene.order` stops. */
  readonly own?: true;
}

/** Rows of one kind. `name`: of their nodes and namespaces; `subnet`: of their Pods, `10.110`. Both are no other kind's. */
export interface FaultRows {
  readonly name: string;
  readonly subnet: string;
  readonly rows: readonly Fault[];
}

/** `steady` has drops in every phase, `other` is in another namespace and has them while the fault lasts, as `during`. */
export type PodName = 'steady' | 'before' | 'during' | 'after' | 'other';

export const pods: readonly PodName[] = ['steady', 'before', 'during', 'after', 'other'];

export interface Scene {
  readonly controlPlane: Connection;
  /** The order of the row's own control plane. */
  readonly order: ControlPlane['order'];
  /** Between the agent and the API server. */
  readonly proxy: FaultProxy;
  readonly rig: AgentRig;
  /** Not before it is started. */
  readonly agent: AgentProcess;
  readonly node: string;
  readonly namespace: string;
  readonly otherNamespace: string;
  /** Path of the agent's. */
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
