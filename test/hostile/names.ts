import { createHash } from 'node:crypto';
import { mark } from './words.ts';

/** The node of the agent, and a node whose Pods it has to look up. */
export const nodeName = 'hostile-node';
export const otherNodeName = 'hostile-other';
export const nodeAddress = '192.168.77.1';

export const honestNamespaces: readonly string[] = ['shop', 'batch'];
export const hostileNamespaces: readonly string[] = Array.from({ length: 3 }, (_, index) => `${mark}-${index}`);

/** The device of a Pod, `NAMESPACE/NAME`, as Calico names it. */
export function deviceOf(pod: string): string {
  return `cali${createHash('sha1').update(pod.replace('/', '.')).digest('hex').slice(0, 11)}`;
}
