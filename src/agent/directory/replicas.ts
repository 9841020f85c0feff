/** Reads the entries that replicas publish about themselves, and the answers that agents get from them. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { isSubdomain } from '../../base/platform/api-names.ts';
import { at, type Json, spelled } from '../../base/platform/json.ts';
import type { Clock } from '../../base/platform/clock.ts';
import { type Owners, podFromRecord, podRecordOf } from '../../explain/resolving/resolving.ts';

/** A running Pod of the directory. Agents use its own address, because kube-proxy's rules may be broken. */
export interface Replica {
  host: string;
  port: number;
  /** The replica's certificate as PEM. No other certificate is trusted. */
  certificate: string;
}

/** The audience of the tokens that agents send. */
export const audience = 'kube-netfilter-tailer-directory';

const tokenFile = 'token';

/** The most replicas that are read, and the most bytes of each. */
const limits = { replicas: 8, bytes: 8192 };

export function encodeReplica({ host, port, certificate }: Replica): string {
  return JSON.stringify({ host, port, certificate });
}

/** Invalid entries are ignored. Throws if there is no token. */
export function readFolder(folder: string): { token: string; replicas: Replica[] } {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.') && name !== tokenFile);
  const replicas = names
    .slice(0, limits.replicas)
    .flatMap((name) => decodeReplica(textOfFile(join(folder, name))) ?? []);
  return { token: readFileSync(join(folder, tokenFile), 'utf8').trim(), replicas };
}

export function decodeReplica(text: string): Replica | undefined {
  try {
    const { host, port, certificate } = JSON.parse(text.slice(0, limits.bytes)) as Record<string, unknown>;
    if (typeof host !== 'string' || isIP(host) === 0 || typeof certificate !== 'string') return undefined;
    if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
    // The constructor throws if the certificate is invalid.
    return { host, port, certificate: new X509Certificate(certificate).toString() };
  } catch {
    return undefined;
  }
}

/** The kubelet may be replacing the file at this moment. */
function textOfFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The most Pods in an answer: the one that has the address, and those that had it in the last ten minutes. */
export const podLimit = 8;

/** The most bytes in an answer. Eight Pods with the longest names take about 24 KB. */
export const answerLimit = 65_536;

/** Encodes an answer. Pods that have the address now come first, then the latest ones. */
export function encodeAnswer({ pods, node }: Owners, { toWall }: Pick<Clock, 'toWall'>): string {
  const latest = pods.toSorted((a, b) => b.until - a.until || b.from - a.from).slice(0, podLimit);
  const records = latest.map((pod) =>
    Object.assign(podRecordOf(pod, toWall), { resourceVersion: pod.resourceVersion }),
  );
  return JSON.stringify({ node, pods: records });
}

/** Leaves out Pods without this address or with invalid names. The others need not exist. Throws if the text has no list of Pods. */
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
