import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

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

/** The agent's token, and the replicas that are published. What is no replica is left out. Throws where there is no token. */
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
    // Throws for what is no certificate.
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
