import { vi } from 'vitest';
import { definitionOf } from '../../deploy/custom-resources.ts';
import type { Connection } from '../control-plane/connection.ts';

const SERVED_WITHIN_MS = 60_000;
/** Where Calico stores it. */
const version = 'crd.projectcalico.org/v1';
const definition = definitionOf({
  group: 'crd.projectcalico.org',
  version: 'v1',
  kind: 'FelixConfiguration',
  scope: 'Cluster',
});

/**
 * Installs the kind FelixConfiguration, with the part of Calico's manifest that matters here. Resolves when the kind is
 * served, which is somewhat later than it is established.
 */
export async function installFelixConfigurations(connection: Connection): Promise<void> {
  await connection.apply(definition);
  await vi.waitUntil(
    async () => (await connection.request('GET', `/apis/${version}/felixconfigurations`)).status === 200,
    { timeout: SERVED_WITHIN_MS, interval: 50 },
  );
}

/** `name`: `default`, or `node.<name>` for one node. */
export async function setFelixConfiguration(
  connection: Connection,
  spec: Readonly<Record<string, unknown>>,
  name: string,
): Promise<void> {
  // Not by kubectl, which first lists the kinds: a new kind is in that list later than it is served.
  const path = `/apis/${version}/felixconfigurations/${name}?fieldManager=e2e&force=true`;
  const { status, body } = await connection.request('PATCH', path, {
    body: { apiVersion: version, kind: 'FelixConfiguration', metadata: { name }, spec },
    contentType: 'application/apply-patch+yaml',
  });
  if (status >= 300) throw new Error(`[felix] ${name}: ${status} ${JSON.stringify(body)}`);
}

/** Leaves the cluster as if Calico had never been installed. */
export async function removeFelixConfigurations(connection: Connection): Promise<void> {
  await connection.succeed(['delete', `crd/${definition.metadata.name}`, '--ignore-not-found', '--timeout=60s']);
}
