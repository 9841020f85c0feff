/** The API server as the user of `drops` reaches it, and what of it may be asked for. */
import { version } from '../../config/config.ts';
import { type Connection, createConnection } from '../../kubernetes/connection.ts';
import { readUserAccess } from '../../kubernetes/kubeconfig.ts';
import type { Millis } from '../../model/log-line.ts';
import { createSteadyClock } from '../../platform/clock.ts';
import type { ClusterOptions } from '../options/cluster-options.ts';

/** Kubeconfig or options cannot be used: exit status 2. */
export class AccessError extends Error {
  override name = 'AccessError';
}

export interface Cluster {
  readonly connection: Connection;
  /** Of the Events and Pods that are asked for; undefined: all. */
  readonly namespace: string | undefined;
}

/** `timeout`: of a request. Throws an `AccessError`. */
export function connectAsUser({ flags, namespace, allNamespaces }: ClusterOptions, timeout?: Millis): Cluster {
  try {
    const access = readUserAccess(flags);
    return {
      connection: createConnection({
        load: () => access,
        userAgent: `kube-netfilter-tailer/${version} drops`,
        onRequest: () => {},
        clock: createSteadyClock(),
        ...(timeout === undefined ? {} : { timeout }),
      }),
      namespace: allNamespaces ? undefined : (namespace ?? access.namespace),
    };
  } catch (error) {
    throw new AccessError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** `/api/v1/namespaces/shop/events`, `/api/v1/events`. */
export function pathOf(api: string, namespace: string | undefined, plural: string): string {
  return `${api}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}
