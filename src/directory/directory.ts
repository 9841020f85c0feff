/** The shared directory of Pods: what its replicas publish about themselves, and the answers that agents get from them. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { isSubdomain } from '../platform/api-names.ts';
import { at, type Json, spelled, strings } from '../platform/json.ts';
import type { Clock } from '../platform/clock.ts';
import { podFromRecord, podRecordOf } from '../resolving/pod-record.ts';
import type { Owners } from '../resolving/lookups/pod-finder.ts';
import type { Connection } from '../kubernetes/connection.ts';
import { RefusedError } from '../kubernetes/refusal.ts';

/** A running Pod of the directory, as agents reach it: by its own address, not by way of kube-proxy's rules. */
export interface Replica {
  host: string;
  port: number;
  /** PEM: the one certificate that is believed from it. */
  certificate: string;
}

/** The audience of the tokens that agents show to the directory. */
export const audience = 'kube-netfilter-tailer-directory';

/** Its name in the folder; every other file is a replica's. */
const tokenFile = 'token';

/** Replicas that are looked at, and bytes of what each has published. */
const limits = { replicas: 8, bytes: 8192 };

export function encodeReplica({ host, port, certificate }: Replica): string {
  return JSON.stringify({ host, port, certificate });
}

/** Reads the agent's token and the published replicas. Ignores invalid entries; throws where there is no token. */
export function readFolder(folder: string): { token: string; replicas: Replica[] } {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.') && name !== tokenFile);
  const replicas = names.slice(0, limits.replicas).flatMap((name) => decodeReplica(textOf(join(folder, name))) ?? []);
  return { token: readFileSync(join(folder, tokenFile), 'utf8').trim(), replicas };
}

export function decodeReplica(text: string): Replica | undefined {
  try {
    const { host, port, certificate } = JSON.parse(text.slice(0, limits.bytes)) as Record<string, unknown>;
    if (typeof host !== 'string' || isIP(host) === 0 || typeof certificate !== 'string') return undefined;
    if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
    // Throws for an invalid certificate.
    return { host, port, certificate: new X509Certificate(certificate).toString() };
  } catch {
    return undefined;
  }
}

/** The kubelet may just be replacing it. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Pods of one address in an answer: one that has it, and those that had it in the last ten minutes. */
export const podLimit = 8;

/** Bytes of an answer; eight Pods with the longest names are about 24 KB. */
export const answerLimit = 65_536;

/** Encodes the Pods of an address: first those that have it now, then those that had it last. */
export function encodeAnswer({ pods, node }: Owners, { toWall }: Pick<Clock, 'toWall'>): string {
  const latest = pods.toSorted((a, b) => Math.sign(b.until - a.until) || b.from - a.from).slice(0, podLimit);
  const records = latest.map((pod) =>
    Object.assign(podRecordOf(pod, toWall), { resourceVersion: pod.resourceVersion }),
  );
  return JSON.stringify({ node, pods: records });
}

/**
 * An answer as it may be believed: names that an API server would accept, at most as many as are asked for, and of the address that
 * was asked for. Whether there is such a Pod only the API server knows. Throws for anything else.
 */
export function decodeAnswer(text: string, address: string, { fromWall }: Pick<Clock, 'fromWall'>): Owners {
  const answer: Json = JSON.parse(text);
  const pods = at(answer, 'pods');
  if (!Array.isArray(pods)) throw new Error('the answer has no Pods');
  return {
    pods: pods.slice(0, podLimit).flatMap((pod: Json) => {
      const found = podFromRecord(pod, fromWall);
      return found?.addresses.includes(address) === true ? [found] : [];
    }),
    node: spelled(at(answer, 'node'), isSubdomain),
  };
}

export interface PublicationOptions {
  connection: Pick<Connection, 'request'>;
  namespace: string;
  configMap: string;
  /** The key of the entry of this Pod. */
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
