import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensurePrograms } from './build.ts';
import type { Connection } from './connection.ts';
import { createOwnFolder } from '../own-folder.ts';
import { startServers } from './running.ts';
import { controllerManager, scheduler } from './servers.ts';

const READY_WITHIN_MS = 60_000;

/**
 * A real kube-controller-manager and a real kube-scheduler. They act on all that the API server has: for a control plane of one's own,
 * started with a place for nodes. Resolves when they work.
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

/** Each namespace gets them soon; without them no Pod is admitted. */
async function untilTheyWork({ request }: Connection): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  const place = '/api/v1/namespaces/default';
  for (const path of [`${place}/serviceaccounts/default`, `${place}/configmaps/kube-root-ca.crt`]) {
    for (;;) {
      const { status } = await request('GET', path);
      if (status === 200) break;
      if (performance.now() > deadline) throw new Error(`GET ${path}: ${status} after ${READY_WITHIN_MS / 1000} s`);
      await delay(50);
    }
  }
}
