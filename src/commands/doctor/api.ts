/** The API server as doctor asks it, and the Pods and Nodes that it lists. Nothing here rejects. */
import { type Answer, type Connection, ifUsable, slimNode, slimPod } from '../../kubernetes/kubernetes.ts';
import { denierOf, type Refusal } from '../../events/events.ts';
import { at, type Json, list, text } from '../../platform/json.ts';
import type { Node, Pod } from '../../resolving/resolving.ts';
import type { PodName } from './own-pod.ts';

/** `request` resolves whatever happens; a refusal with status 0 is no answer. */
export interface Api extends Pick<Connection, 'server' | 'request' | 'clockSkew'> {
  /** Why no API server can be asked: no kubeconfig and no ServiceAccount. */
  readonly unusable?: string | undefined;
}

export type Asked = Pick<Api, 'request'>;

/** An API server that cannot be reached: each check says so in its own words. */
export function noApi(reason: string): Api {
  const refusal = { kind: 'refused', status: 0, reason: '', message: reason, retryAfter: undefined } as const;
  return { server: '', clockSkew: undefined, unusable: reason, request: () => Promise.resolve(refusal) };
}

export function itemsOf(
  answer: Answer,
): { kind: 'items'; items: readonly unknown[] } | { kind: 'refused'; why: string } {
  if (answer.kind === 'refused') return { kind: 'refused', why: refusalText(answer) };
  return { kind: 'items', items: list(at(answer.body, 'items')) };
}

export function refusalText(refusal: Pick<Refusal, 'status' | 'reason' | 'message'>): string {
  const { status, message } = refusal;
  if (status === 0) return 'the API server does not answer';
  if (denierOf(refusal) !== undefined) return `the API server's admission denies it: ${message}`;
  return status === 403 ? 'the API server does not allow it' : `the API server answers ${status}: ${message}`;
}

/** Returns undefined if the API server does not answer. */
export async function podsOn({ request }: Asked, node: string): Promise<Pod[] | undefined> {
  if (node === '') return undefined;
  const query = { fieldSelector: `spec.nodeName=${node}`, resourceVersion: '0' };
  const found = itemsOf(await request('GET', '/api/v1/pods', { query }));
  return found.kind === 'refused' ? undefined : usable(found.items, slimPod);
}

/** An answer about one object; `found` is undefined if it is not there. */
export type Looked<T> = { kind: 'answered'; found: T | undefined } | { kind: 'refused'; why: string };

/** Asks for a list, because the agent may not get Pods. */
export async function findPod({ request }: Asked, { namespace, name }: PodName): Promise<Looked<Pod>> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  const found = itemsOf(await request('GET', path, { query: { fieldSelector: `metadata.name=${name}` } }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, slimPod)[0] };
}

export interface FoundNode extends Node {
  /** `kind://docker/kind/kind-worker`; undefined if it is not set. */
  providerId: string | undefined;
}

export async function findNode({ request }: Asked, name: string): Promise<Looked<FoundNode>> {
  const query = { fieldSelector: `metadata.name=${name}`, limit: 1 };
  const found = itemsOf(await request('GET', '/api/v1/nodes', { query }));
  return found.kind === 'refused' ? found : { kind: 'answered', found: usable(found.items, withProvider)[0] };
}

function withProvider(item: Json): FoundNode {
  return { ...slimNode(item), providerId: text(at(item, 'spec', 'providerID')) };
}

/** Returns names of a few Nodes; none where the API server does not answer. */
export async function someNodes({ request }: Asked): Promise<string[]> {
  const found = itemsOf(await request('GET', '/api/v1/nodes', { query: { limit: 5 } }));
  return found.kind === 'refused' ? [] : usable(found.items, slimNode).map(({ name }) => name);
}

function usable<T>(items: readonly unknown[], slim: (item: Json) => T): T[] {
  return items.flatMap((item) => ifUsable(slim)(item) ?? []);
}
