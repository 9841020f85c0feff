import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { vi } from 'vitest';
import { CALICO_VERSION } from '../control-plane/binaries.ts';
import type { Connection } from '../control-plane/connection.ts';
import { fetchModule } from './modules.ts';

export const calicoGroup = 'crd.projectcalico.org';

/**
 * Installs Calico's own CustomResourceDefinitions, from the Go module or a checkout, and a FelixConfiguration
 * `default`. The test needs a control plane of its own, because whether Calico is installed is the same for all clients
 * of an API server.
 */
export async function installCalico(connection: Connection, checkout?: string): Promise<void> {
  const folder = checkout ?? (await fetchModule('github.com/projectcalico/calico', CALICO_VERSION));
  const definitions = loadAll(await readFile(join(folder, 'manifests/crds.yaml'), 'utf8')) as (object | null)[];
  // Some are too long for the annotation of a client-side apply.
  const items = definitions.filter((each) => each !== null);
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await connection.succeed(['apply', '--server-side', '-f', '-'], { input });
  await connection.succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const felix = calicoObject('FelixConfiguration', 'default', {});
  // A new kind is established before it is served.
  await vi.waitUntil(async () => (await createCalico(connection, felix)).status === 201, { timeout: 60_000 });
}

/** An object of Calico in the form in which Calico stores it. */
export function calicoObject(kind: string, name: string, spec: object, namespace?: string): CalicoObject {
  return { apiVersion: `${calicoGroup}/v1`, kind, metadata: { name, namespace }, spec };
}

export interface CalicoObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec: object;
}

/** Creates an object; unknown fields are refused. */
export function createCalico(connection: Connection, object: CalicoObject): ReturnType<Connection['request']> {
  const { kind, metadata } = object;
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  const place = metadata.namespace === undefined ? plural : `namespaces/${metadata.namespace}/${plural}`;
  const path = `/apis/${calicoGroup}/v1/${place}?fieldValidation=Strict`;
  return connection.request('POST', path, { body: object });
}
