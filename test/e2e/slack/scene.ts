import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { podObject } from '../agent-rig.ts';
import type { Connection } from '../control-plane/connection.ts';
import { createInQuietHours } from '../quiet-hours.ts';
import type { Reader } from './reader.ts';
import type { Webhook } from './webhook.ts';

/** Pods in a namespace of their own, and what Slack was sent about it. */
export interface Scene extends Reader {
  readonly namespace: string;
  /** One for each name, in the order of the names. */
  readonly addresses: readonly string[];
  /** The address of this scene alone: one peer of many Pods would be a scan. */
  readonly outside: string;
  /** Messages about this namespace, when all that has been written by now was seen: the drop that is published last shows it. */
  readonly messages: () => Promise<string[]>;
}

export interface SceneOptions {
  readonly connection: Connection;
  readonly reader: Reader;
  readonly slack: Webhook;
  readonly node: string;
  readonly namespace: string;
  /** `10.NET.0.x` are its Pods: not 96 to 111, which are addresses of Services. */
  readonly net: number;
  readonly pods: readonly string[];
}

/** Under load the last of several agents takes its time. */
const limit = 60_000;

export async function createScene(options: SceneOptions): Promise<Scene> {
  const { connection, reader, slack, node, namespace, net, pods } = options;
  const names = [...pods, 'last'];
  const addresses = names.map((_, index) => `10.${net}.0.${index + 1}`);
  await createInQuietHours(
    connection,
    names.map((name, index) => podObject({ namespace, name, node, addresses: [addresses[index] ?? ''] })),
  );
  const outside = `203.0.113.${net}`;
  let marks = 0;
  return {
    ...reader,
    namespace,
    addresses,
    outside,
    async messages() {
      const port = 10_000 + ++marks;
      const mark = `Pod ${namespace}/last: Packet dropped when receiving traffic from ${outside} (outside the cluster) on port ${port}/TCP`;
      reader.drop(outside, addresses.at(-1) ?? '', port, 1);
      await slack.until((texts) => texts.some((text) => text.includes(mark)), limit);
      return slack.texts.filter((text) => text.includes(` ${namespace}/`) && !text.includes(` ${namespace}/last:`));
    },
  };
}

const shipped = join(import.meta.dirname, '../../../deploy/exporters/kubernetes-event-exporter.yaml');

/** The configuration in deploy/, as text. */
export function shippedConfig(): string {
  return readFileSync(shipped, 'utf8');
}
