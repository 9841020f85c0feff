/** What the scripts that capture samples share: a node of cluster.json, and the day on which the samples are. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../test/e2e/control-plane/connection.ts';
import { startControlPlane } from '../test/e2e/control-plane/control-plane.ts';
import type { KubernetesObject } from '../test/e2e/control-plane/creatable.ts';
import { createObjects } from '../test/e2e/control-plane/objects.ts';
import { createNodeNamespace, type NodeNamespace } from '../test/e2e/kube-proxy/node-namespace.ts';

interface CapturedNode {
  connection: Connection;
  place: NodeNamespace;
  /** An empty folder for logs of containers. */
  podLogs: string;
}

/** Runs `capture` beside an API server that has the objects of these kinds, and removes all of it afterwards. */
export async function withNode(
  kinds: readonly string[],
  capture: (node: CapturedNode) => Promise<void>,
): Promise<void> {
  const connection = await startControlPlane();
  const place = await createNodeNamespace(connection.server);
  const podLogs = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-capture-'));
  try {
    const { items } = JSON.parse(readFileSync(join(import.meta.dirname, 'cluster.json'), 'utf8')) as {
      items: KubernetesObject[];
    };
    await createObjects(connection, { items: items.filter(({ kind }) => kinds.includes(kind)) });
    await capture({ connection, place, podLogs });
  } finally {
    await place.destroy();
    await connection.stop();
    rmSync(podLogs, { recursive: true });
  }
}

/** All stamps, of containerd, of klog and of its traces, earlier or later by one and the same time. */
export function moved(text: string, start: number): string {
  const by = start - Date.parse(text.slice(0, text.indexOf(' ')));
  const shift = (stamp: string): string => new Date(Date.parse(stamp) + by).toISOString();
  const now = new Date();
  const day = now.toISOString().slice(0, 10);
  return text
    .replaceAll(/^(\S+?\.\d{3})(\d*)Z/gm, (_, millis: string, rest: string) =>
      shift(`${millis}Z`).replace('Z', `${rest}Z`),
    )
    .replaceAll(
      /( [FP] [IWEF])\d{4} (\d\d:\d\d:\d\d\.\d{3})(\d{3})/g,
      (_, before: string, time: string, rest: string) => {
        const [date = '', clock = ''] = shift(`${day}T${time}Z`).split('T');
        return `${before}${date.slice(5).replace('-', '')} ${clock.replace('Z', rest)}`;
      },
    )
    .replaceAll(/\(\d\d-\w{3}-\d{4} (\d\d:\d\d:\d\d\.\d{3})\)/g, (_, time: string) => {
      const [, clock = ''] = shift(`${day}T${time}Z`).split('T');
      return `(21-Nov-2026 ${clock.replace('Z', '')})`;
    });
}
