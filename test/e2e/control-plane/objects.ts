import type { Connection } from './connection.ts';
import { asCreatable, statusPatch } from './creatable.ts';
import type { KubernetesObject } from './creatable.ts';

export interface ObjectList {
  readonly items: readonly KubernetesObject[];
}

export interface CreatedObject extends KubernetesObject {
  readonly metadata: KubernetesObject['metadata'] & { readonly uid: string; readonly resourceVersion: string };
}

/**
 * Creates what `kubectl get … -o json` printed: Namespaces first (also those that are only mentioned), then Nodes, then
 * the rest as listed. Gives Nodes, Pods and Services their status, because there is no kubelet here. Returns the
 * objects as the server has them, in the order of creation. Namespaces, Nodes and the Service default/kubernetes may
 * exist already. A new object is made again, before it has a status, until `isRightUid` accepts its uid.
 */
export async function createObjects(
  connection: Connection,
  list: ObjectList,
  isRightUid: (uid: string) => boolean = () => true,
): Promise<readonly CreatedObject[]> {
  const created: CreatedObject[] = [];
  for (const object of inOrder(list.items)) created.push(await create(connection, object, isRightUid));
  return created;
}

function inOrder(items: readonly KubernetesObject[]): readonly KubernetesObject[] {
  const listed = new Set(items.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name));
  const mentioned = new Set(items.flatMap(({ metadata }) => metadata.namespace ?? []));
  const implied = [...mentioned]
    .filter((name) => !listed.has(name))
    .map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  return [...implied, ...items].toSorted((left, right) => rank(left) - rank(right));
}

function rank({ kind }: KubernetesObject): number {
  if (kind === 'Namespace') return 0;
  return kind === 'Node' ? 1 : 2;
}

async function create(
  connection: Connection,
  object: KubernetesObject,
  isRightUid: (uid: string) => boolean,
): Promise<CreatedObject> {
  const collection = collectionPath(object);
  const path = `${collection}/${object.metadata.name}`;
  // Looked for first: creating default/kubernetes again is refused for its address (422), not for its name (409).
  const existing = mayExist(object) ? await connection.request('GET', path) : undefined;
  const made =
    existing?.status === 200 ? existing : await connection.request('POST', collection, { body: asCreatable(object) });
  // Another test file, or the server, made it after the look.
  const answer = made.status === 409 && mayExist(object) ? await connection.request('GET', path) : made;
  const stored = expectObject(answer.status, answer.body, `create ${path}`);
  if (object.kind !== 'Namespace' && !isRightUid(stored.metadata.uid)) {
    const deleted = await connection.request('DELETE', `${path}?gracePeriodSeconds=0`);
    expectObject(deleted.status, deleted.body, `delete ${path}`);
    return await create(connection, object, isRightUid);
  }

  const status = statusPatch(object);
  if (status === undefined) return stored;
  const patched = await connection.request('PATCH', `${path}/status`, { body: { status } });
  return expectObject(patched.status, patched.body, `patch the status of ${path}`);
}

// Test files share these objects, or the server makes them itself. A Pod that already exists would be another Pod.
function mayExist({ kind, metadata }: KubernetesObject): boolean {
  const isOwnService = kind === 'Service' && metadata.namespace === 'default' && metadata.name === 'kubernetes';
  return kind === 'Namespace' || kind === 'Node' || isOwnService;
}

function collectionPath({ apiVersion, kind, metadata }: KubernetesObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
  return `${group}${namespace}/${plural(kind.toLowerCase())}`;
}

// The rule that Kubernetes itself guesses by (meta.UnsafeGuessKindToResource).
function plural(kind: string): string {
  if (kind.endsWith('endpoints')) return kind;
  if (kind.endsWith('s')) return `${kind}es`;
  return kind.endsWith('y') ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}

function expectObject(status: number, body: unknown, what: string): CreatedObject {
  if (status < 300 && isCreated(body)) return body;
  throw new Error(`[control-plane] cannot ${what}: ${status} ${JSON.stringify(body)}`);
}

function isCreated(body: unknown): body is CreatedObject {
  return typeof body === 'object' && body !== null && 'metadata' in body && 'kind' in body;
}
