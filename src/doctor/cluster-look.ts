import { slimPod } from '../kubernetes/slim.ts';
import type { Pod } from '../resolving/objects.ts';
import { type Api, itemsOf } from './api.ts';

/** The Pods of a node; undefined where nobody tells. Never rejects. */
export async function podsOn({ request }: Pick<Api, 'request'>, node: string): Promise<Pod[] | undefined> {
  if (node === '') return undefined;
  const query = { fieldSelector: `spec.nodeName=${node}`, resourceVersion: '0' };
  const found = itemsOf(await request('GET', '/api/v1/pods', { query }));
  return found.kind === 'refused' ? undefined : found.items.flatMap(podIn);
}

/** One Pod; undefined if it is not there, or nobody tells. Never rejects. */
export async function findPod(
  { request }: Pick<Api, 'request'>,
  namespace: string,
  name: string,
): Promise<Pod | undefined> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  // By a list, because the agent may not get.
  const found = itemsOf(await request('GET', path, { query: { fieldSelector: `metadata.name=${name}` } }));
  return found.kind === 'refused' ? undefined : found.items.flatMap(podIn)[0];
}

/** `spec.providerID` of the Node. */
export async function providerIdOf({ request }: Pick<Api, 'request'>, node: string): Promise<string | undefined> {
  if (node === '') return undefined;
  const found = itemsOf(await request('GET', '/api/v1/nodes', { query: { fieldSelector: `metadata.name=${node}` } }));
  if (found.kind === 'refused') return undefined;
  const id = (found.items[0] as { spec?: { providerID?: unknown } } | undefined)?.spec?.providerID;
  return typeof id === 'string' ? id : undefined;
}

function podIn(item: unknown): Pod[] {
  try {
    return [slimPod(item)];
  } catch {
    return [];
  }
}
