import { at, type Json, text } from '../../platform/json.ts';
import { slimNode, slimPod } from '../../kubernetes/slim.ts';
import type { Node, Pod } from '../../resolving/objects.ts';
import { type Api, itemsOf } from './api.ts';
import type { PodName } from './own-pod.ts';

type Asked = Pick<Api, 'request'>;

/** The Pods of a node; undefined where the API server does not answer. Never rejects. */
export async function podsOn({ request }: Asked, node: string): Promise<Pod[] | undefined> {
  if (node === '') return undefined;
  const query = { fieldSelector: `spec.nodeName=${node}`, resourceVersion: '0' };
  const found = itemsOf(await request('GET', '/api/v1/pods', { query }));
  return found.kind === 'refused' ? undefined : usable(found.items, slimPod);
}

/** What was asked for by name; `found` is undefined if it is not there. */
export type Looked<T> = { kind: 'answered'; found: T | undefined } | { kind: 'refused'; why: string };

/** One Pod. Never rejects. */
export async function findPod({ request }: Asked, { namespace, name }: PodName): Promise<Looked<Pod>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  // By a list, because the agent may not get.
  const found = itemsOf(await request('GET', path, { query: { fieldSelector: `metadata.name=${name}` } }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, slimPod)[0] };
}

export interface FoundNode extends Node {
  /** `kind://docker/kind/kind-worker`; undefined where it is not set. */
  providerId: string | undefined;
}

/** One Node. Never rejects. */
export async function findNode({ request }: Asked, name: string): Promise<Looked<FoundNode>> {
  const query = { fieldSelector: `metadata.name=${name}`, limit: 1 };
  const found = itemsOf(await request('GET', '/api/v1/nodes', { query }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, withProvider)[0] };
}

function withProvider(item: Json): FoundNode {
  return { ...slimNode(item), providerId: text(at(item, 'spec', 'providerID')) };
}

/** Names of a few Nodes; none where the API server does not answer. Never rejects. */
export async function someNodes({ request }: Asked): Promise<string[]> {
  const found = itemsOf(await request('GET', '/api/v1/nodes', { query: { limit: 5 } }));
  return found.kind === 'refused' ? [] : usable(found.items, slimNode).map(({ name }) => name);
}

/** Those that can be understood. */
function usable<T>(items: readonly unknown[], slim: (item: unknown) => T): T[] {
  return items.flatMap((item) => {
    try {
      return [slim(item)];
    } catch {
      return [];
    }
  });
}
