import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrograms } from './build.ts';
import type { Connection } from './connection.ts';
import { createOwnFolder } from '../own-folder.ts';
import { until } from '../until.ts';
import { startServers } from './running.ts';
import { controllerManager, scheduler } from './servers.ts';

/**
 * Starts a real kube-controller-manager and a real kube-scheduler. They act on everything in the API server, so the
 * caller needs a control plane of its own, started with a place for nodes. Resolves when they work.
 */
export async function startControllers(connection: Connection): Promise<{ readonly stop: () => Promise<void> }> {
  const binaries = await ensurePrograms(['kube-controller-manager', 'kube-scheduler']);
  const folder = createOwnFolder('control-plane');
  const authority = join(folder, 'ca.crt');
  await writeFile(authority, connection.certificateAuthority);
  const servers = [
    controllerManager(binaries['kube-controller-manager'], folder, connection.adminKubeconfig, authority),
    scheduler(binaries['kube-scheduler'], folder, connection.adminKubeconfig),
  ];
  const { failure, logs, stop } = startServers(folder, servers);
  try {
    await Promise.race([failure, untilTheyWork(connection)]);
  } catch (cause) {
    const printed = logs();
    await stop();
    throw new Error(`[control-plane] the controllers did not start: ${String(cause)}\n${printed}`, { cause });
  }
  return { stop };
}

/** Waits for the default ServiceAccount and the CA's ConfigMap of a namespace, without which no Pod is admitted. */
async function untilTheyWork({ request }: Connection): Promise<void> {
  const place = '/api/v1/namespaces/default';
  for (const path of [`${place}/serviceaccounts/default`, `${place}/configmaps/kube-root-ca.crt`])
    await until(
      async () => (await request('GET', path)).status === 200,
      () => `${path} is not there after a minute`,
    );
}
