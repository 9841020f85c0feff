import type { Connection } from '../kubernetes/connection.ts';
import { RefusedError } from '../kubernetes/refusal.ts';
import { at, strings } from '../platform/json.ts';
import { decodeReplica, encodeReplica, type Replica } from './replica.ts';

export interface PublicationOptions {
  connection: Pick<Connection, 'request'>;
  namespace: string;
  configMap: string;
  /** Of this Pod: the key of its entry. */
  podName: string;
  replica: Replica;
  /** Whether a Pod of the own namespace is there with that address. */
  isThere: (podName: string, address: string) => boolean;
}

export interface Publication {
  /**
   * Writes the entry of this replica where it is not there, and takes out those of Pods that are gone. A merge patch changes single
   * keys, so that replicas do not undo each other's. True where it has written its own. Rejects with a `RefusedError`.
   */
  renew: () => Promise<boolean>;
}

export function createPublication(options: PublicationOptions): Publication {
  const { connection, namespace, configMap, podName, replica, isThere } = options;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${configMap}`;
  const own = encodeReplica(replica);
  /** Entries whose Pod was not seen at the last look: a watch may be later than the entry. */
  let missed: ReadonlySet<string> = new Set();

  return { renew };

  async function renew(): Promise<boolean> {
    const answer = await connection.request('GET', path);
    if (answer.kind === 'refused') throw new RefusedError(answer);
    const data = strings(at(answer.body, 'data'));
    const missing = Object.entries(data)
      .filter(([name, text]) => name !== podName && !isThere(name, decodeReplica(text)?.host ?? ''))
      .map(([name, text]) => [name, text].join(' '));
    const gone = missing.filter((entry) => missed.has(entry)).map((entry) => entry.split(' ', 1)[0] ?? '');
    missed = new Set(missing);
    const changes = Object.fromEntries<string | null>(gone.map((name) => [name, null]));
    if (data[podName] !== own) changes[podName] = own;
    if (Object.keys(changes).length === 0) return false;
    const patched = await connection.request('PATCH', path, { body: { data: changes } });
    if (patched.kind === 'refused') throw new RefusedError(patched);
    return podName in changes;
  }
}
