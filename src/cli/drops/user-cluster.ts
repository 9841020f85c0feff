/** The API server as the user of `kubectl drops` sees it. */
import { version } from '../../agent/config/config.ts';
import { type Access, type Connection, createConnection, RefusedError } from '../../agent/kubernetes/kubernetes.ts';
import { readUserAccess } from '../../agent/kubernetes/kubeconfig.ts';
import type { Millis } from '../../base/model/log-line.ts';
import { createSteadyClock } from '../../base/platform/clock.ts';
import type { ClusterOptions } from '../options/cluster-options.ts';

/** The kubeconfig, or options about it, cannot be used. */
export class AccessError extends Error {
  override name = 'AccessError';
}

export interface Cluster {
  readonly access: Access;
  readonly connection: Connection;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
}

/** `longest`: of a request, unless the user says it. Throws an `AccessError`. */
export function connectAsUser(
  { flags, namespace, allNamespaces, timeout: asked }: ClusterOptions,
  longest?: Millis,
): Cluster {
  const timeout = asked ?? longest;
  try {
    const access = readUserAccess(flags);
    return {
      access,
      connection: createConnection({
        access,
        userAgent: `kube-netfilter-tailer/${version} drops`,
        clock: createSteadyClock(),
        ...(timeout === undefined ? {} : { timeout }),
      }),
      namespace: allNamespaces ? undefined : (namespace ?? access.namespace),
    };
  } catch (error) {
    throw new AccessError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

export function apiPath(api: string, namespace: string | undefined, plural: string): string {
  return `${api}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
}

/** Makes an error that ends the command in the same way as a refusal of the API server. */
export function refused(message: string, status = 0, reason = ''): RefusedError {
  return new RefusedError({ kind: 'refused', status, reason, message, retryAfter: undefined });
}
