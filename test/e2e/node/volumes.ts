import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Connection } from '../control-plane/connection.ts';
import type { SetupOptions } from './setup-options.ts';
import type { Machine } from './machine.ts';
import { fieldOf, type Pod, type ProjectedSource, type Volume } from './pod-object.ts';

/** Makes a volume ready; returns its path on the machine. Throws, with what the Pod then waits for, when it cannot be had. */
export async function prepareVolume(volume: Volume, options: SetupOptions): Promise<string> {
  const { name, hostPath, emptyDir, configMap, projected } = volume;
  if (hostPath !== undefined) return hostFolder(hostPath, options.machine);
  const folder = join(options.folder, 'volumes', name);
  mkdirSync(folder, { recursive: true });
  if (emptyDir !== undefined) return folder;
  const sources = projected?.sources ?? (configMap === undefined ? undefined : [{ configMap }]);
  if (sources === undefined) throw new Error(`volume ${name} is of a type that is not known here`);
  for (const source of sources)
    for (const [path, content] of Object.entries(await contentOf(source, options))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
  return folder;
}

function hostFolder({ path, type = '' }: { path: string; type?: string }, machine: Machine): string {
  // What the machine's kernel or its journald shows; all else is below the folder that stands for its files.
  if (path === '/proc' || path === '/run/log' || path.startsWith('/run/log/')) return path;
  const place = machine.outside(path);
  if (type === 'DirectoryOrCreate') mkdirSync(place, { recursive: true });
  if (!existsSync(place)) throw new Error(`hostPath type check failed: ${path} is not a directory`);
  if (type.startsWith('Directory') && !statSync(place).isDirectory())
    throw new Error(`hostPath type check failed: ${path} is not a directory`);
  return place;
}

async function contentOf(source: ProjectedSource, options: SetupOptions): Promise<Readonly<Record<string, string>>> {
  const { serviceAccountToken, configMap, downwardAPI } = source;
  const { connection, machine, pod, address } = options;
  const files: Record<string, string> = {};
  if (serviceAccountToken !== undefined)
    files[serviceAccountToken.path] = await tokenOf(connection, pod, serviceAccountToken);
  if (configMap !== undefined) {
    const { data = {} } = (await get(connection, `configmaps/${configMap.name}`, pod)) as {
      data?: Record<string, string>;
    };
    const items = configMap.items ?? Object.keys(data).map((key) => ({ key, path: key }));
    for (const { key, path } of items) files[path] = data[key] ?? '';
  }
  for (const { path, fieldRef } of downwardAPI?.items ?? [])
    files[path] = fieldOf(pod, fieldRef.fieldPath, address, machine.address);
  return files;
}

/** By the TokenRequest that a kubelet makes: valid for as long as the Pod is there. */
async function tokenOf(
  { request }: Connection,
  { metadata, spec }: Pod,
  { expirationSeconds, audience }: NonNullable<ProjectedSource['serviceAccountToken']>,
): Promise<string> {
  const { name, namespace, uid } = metadata;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: audience === undefined ? [] : [audience],
      expirationSeconds,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
    },
  };
  const account = spec.serviceAccountName ?? 'default';
  const answer = await request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, { body });
  if (answer.status !== 201) throw new Error(`no token for ServiceAccount ${namespace}/${account}: ${answer.status}`);
  return (answer.body as { status: { token: string } }).status.token;
}

async function get({ request }: Connection, what: string, { metadata }: Pod): Promise<unknown> {
  const { status, body } = await request('GET', `/api/v1/namespaces/${metadata.namespace}/${what}`);
  if (status !== 200) throw new Error(`${what} not found`);
  return body;
}
