import type { Connection } from '../control-plane/connection.ts';
import type { Machine } from './machine.ts';
import type { Pod } from './pod-object.ts';
import { type ContainerState, now, statusOf } from './pod-status.ts';

/** What the API server is sent about one Pod. */
export interface Reporter {
  /** Of its containers, in their order; changed by who runs them. */
  readonly states: readonly ContainerState[];
  readonly hasAddress: (address: string) => void;
  /** Writes the status as it is now, some time soon. */
  readonly write: () => void;
  /** When all of it is written. */
  readonly written: () => Promise<void>;
  /** An Event as a kubelet would write it. */
  readonly say: (type: 'Normal' | 'Warning', reason: string, message: string) => Promise<void>;
}

export function createReporter({ request }: Connection, pod: Pod, machine: Machine): Reporter {
  const { name, namespace, uid } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}`;
  const startTime = now();
  const transitions = new Map<string, string>();
  let address = '';
  let writing = Promise.resolve();
  const states = pod.spec.containers.map((container): ContainerState => ({
    name: container.name,
    image: container.image,
    ready: false,
    started: false,
    restarts: 0,
    id: '',
    state: { waiting: { reason: 'ContainerCreating' } },
    lastState: {},
  }));
  // One after the other, so that the last one wins.
  const writeAfter = async (before: Promise<void>, status: object): Promise<void> => {
    await before;
    const body = { metadata: { uid }, status };
    await request('PATCH', `${path}/pods/${name}/status`, { body, contentType: 'application/merge-patch+json' });
  };
  const write = (): void => {
    writing = writeAfter(writing, statusOf(states, { address, nodeAddress: machine.address, startTime }, transitions));
    // Set by `written`.
    writing.catch(() => {});
  };
  write();
  return {
    states,
    hasAddress(given) {
      address = given;
      write();
    },
    write,
    written: () => writing,
    async say(type, reason, message) {
      const at = now();
      const body = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { generateName: `${name}.`, namespace },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace, uid },
        type,
        reason,
        message,
        count: 1,
        firstTimestamp: at,
        lastTimestamp: at,
        source: { component: 'kubelet', host: machine.name },
      };
      await request('POST', `${path}/events`, { body });
    },
  };
}
