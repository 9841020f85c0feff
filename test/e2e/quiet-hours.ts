import type { Millis } from '../../src/model/log-line.ts';
import { windowOf } from '../../src/series/times.ts';
import type { Connection } from './control-plane/connection.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createObjects } from './control-plane/objects.ts';

/** Longer than a test. */
const quiet: Millis = 300_000;

/**
 * Creates objects whose hours do not end within the next minutes. Whatever lasts gets a new Event in each hour of its object, which
 * begins at a minute that follows from the uid: one Event, and so one message, would rightly be two.
 */
export async function createInQuietHours(connection: Connection, objects: readonly KubernetesObject[]): Promise<void> {
  for (const namespace of new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? [])))
    await ensureNamespace(connection, namespace);
  const created = await createObjects(connection, { items: objects });
  const unquiet = objects.filter(({ kind, metadata }) =>
    created.some((each) => each.kind === kind && each.metadata.name === metadata.name && !isQuiet(each.metadata.uid)),
  );
  if (unquiet.length === 0) return;
  for (const object of unquiet) await remove(connection, object);
  await createInQuietHours(connection, unquiet);
}

/** Also where the server has just made it by itself, as it does with kube-system. */
async function ensureNamespace(connection: Connection, name: string): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const { status } = await connection.request('POST', '/api/v1/namespaces', { body });
  if (status !== 201 && status !== 409) throw new Error(`creating the namespace ${name}: ${status}`);
}

function isQuiet(uid: string): boolean {
  return windowOf(Date.now(), uid).end - Date.now() > quiet;
}

async function remove(connection: Connection, { kind, metadata }: KubernetesObject): Promise<void> {
  const place = metadata.namespace === undefined ? '' : `namespaces/${metadata.namespace}/`;
  const path = `/api/v1/${place}${kind.toLowerCase()}s/${metadata.name}?gracePeriodSeconds=0`;
  const { status } = await connection.request('DELETE', path);
  if (status !== 200) throw new Error(`deleting ${path}: ${status}`);
}
