/** What replicas publish about themselves, and the answers that agents get from them. */
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { isSubdomain } from '../platform/api-names.ts';
import { at, type Json, spelled } from '../platform/json.ts';
import type { Clock } from '../platform/clock.ts';
import { type Owners, podFromRecord, podRecordOf } from '../resolving/resolving.ts';

/** A running Pod of the directory. Agents use its own address, because rules of kube-proxy may be broken. */
export interface Replica {
  host: string;
  port: number;
  /** PEM; no other certificate is believed. */
  certificate: string;
}

/** Audience of the tokens by which agents ask. */
export const audience = 'kube-netfilter-tailer-directory';

const tokenFile = 'token';

/** At most so many replicas, and bytes of each, are read. */
const limits = { replicas: 8, bytes: 8192 };

export function encodeReplica({ host, port, certificate }: Replica): string {
  return JSON.stringify({ host, port, certificate });
}

/** Reads the token and the published replicas. Invalid entries are ignored. Throws without a token. */
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

/** The kubelet may be replacing the file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The most Pods of an answer: one that has the address, and those of the last ten minutes. */
export const podLimit = 8;

/** The most bytes of an answer; eight Pods with the longest names take about 24 KB. */
export const answerLimit = 65_536;

/** The Pods that have the address now come first, then the latest. */
export function encodeAnswer({ pods, node }: Owners, { toWall }: Pick<Clock, 'toWall'>): string {
  const latest = pods.toSorted((a, b) => Math.sign(b.until - a.until) || b.from - a.from).slice(0, podLimit);
  const records = latest.map((pod) =>
    Object.assign(podRecordOf(pod, toWall), { resourceVersion: pod.resourceVersion }),
  );
  return JSON.stringify({ node, pods: records });
}

/**
 * Believes names that an API server accepts, of a limited number of Pods that have the address; only the API server knows whether there is
 * such a Pod. Throws for anything else.
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
