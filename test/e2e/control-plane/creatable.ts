export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly spec?: Fields;
  readonly status?: Fields;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * A stored object in the form that another server's POST accepts. Finalizers would be honoured, but no controller
 * removes them, so the object could never be deleted.
 */
export function asCreatable(object: KubernetesObject): KubernetesObject {
  const { status: _, spec, metadata, ...rest } = object;
  const kept = { ...without(metadata, ['uid', 'resourceVersion', 'finalizers']), name: metadata.name };
  return { ...rest, metadata: kept, ...(spec === undefined ? {} : { spec: creatableSpec(object.kind, spec) }) };
}

/**
 * Returns the patch for the status subresource; undefined if the kind has no status that matters without its
 * controller.
 */
export function statusPatch({ kind, status }: KubernetesObject): Fields | undefined {
  if (status === undefined) return undefined;
  // qosClass follows from the spec and cannot be changed.
  if (kind === 'Pod') return without(status, ['qosClass']);
  if (kind === 'Node') return status;
  const loadBalancer = status.loadBalancer;
  if (kind === 'Service' && isNonEmptyObject(loadBalancer)) return { loadBalancer };
  return undefined;
}

/** Priority classes other than those of every cluster do not exist here, and admission would refuse the Pod. */
function creatableSpec(kind: string, spec: Fields): Fields {
  if (kind === 'Namespace') return without(spec, ['finalizers']);
  if (kind !== 'Pod') return spec;
  const isBuiltIn = String(spec.priorityClassName).startsWith('system-');
  return without(spec, ['priority', 'preemptionPolicy', ...(isBuiltIn ? [] : ['priorityClassName'])]);
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function isNonEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
