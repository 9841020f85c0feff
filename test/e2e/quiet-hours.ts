import type { Millis } from '../../src/base/model/log-line.ts';
import { windowOf } from '../../src/count/series/times.ts';
import type { Connection } from './control-plane/connection.ts';
import type { KubernetesObject } from './control-plane/creatable.ts';
import { createObjects } from './control-plane/objects.ts';

/** Longer than a test. */
const quiet: Millis = 300_000;

/**
 * Creates objects whose hours do not end within the next minutes. A lasting problem gets a new Event in each hour of
 * its object, which begins at a minute that follows from the uid: otherwise there could rightly be two Events, and so
 * two messages. An object gets its status, and so its address, only when its uid is right, so that a watching agent
 * never knows the address from an object that is deleted again.
 */
export async function createInQuietHours(connection: Connection, objects: readonly KubernetesObject[]): Promise<void> {
  await createObjects(connection, { items: objects }, isQuiet);
}

function isQuiet(uid: string): boolean {
  return windowOf(Date.now(), uid).end - Date.now() > quiet;
}
