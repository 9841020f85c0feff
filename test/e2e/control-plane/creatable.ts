export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly spec?: Fields;
  readonly status?: Fields;
  readonly [field: string]: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

// Finalizers would be honoured, but no controller is there to remove them: the object could never be deleted.
const SERVER_SET_METADATA = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
  'finalizers',
];

/** A stored object as it can be given to another server's POST: without what the server or its plug-ins set. */
export function asCreatable(object: KubernetesObject): KubernetesObject {
  const { status: _, spec, ...rest } = object;
  const metadata = { ...without(object.metadata, SERVER_SET_METADATA), name: object.metadata.name };
  return { ...rest, metadata, ...(spec === undefined ? {} : { spec: creatableSpec(object.kind, spec) }) };
}

/** Returns what to merge into the status subresource; undefined when the kind has none that matters without its controller. */
export function statusPatch({ kind, status }: KubernetesObject): Fields | undefined {
  if (status === undefined) return undefined;
  // qosClass follows from the spec and cannot be changed.
  if (kind === 'Pod') return without(status, ['qosClass']);
  if (kind === 'Node') return status;
  const loadBalancer = status.loadBalancer;
  if (kind === 'Service' && isNonEmptyObject(loadBalancer)) return { loadBalancer };
  return undefined;
}

function creatableSpec(kind: string, spec: Fields): Fields {
  if (kind === 'Namespace') return without(spec, ['finalizers']);
  if (kind === 'Pod') return creatablePodSpec(spec);
  return spec;
}

// The RuntimeClass and PriorityClass of another cluster are not here, and admission would refuse the Pod for them; the
// system- classes exist in every cluster. Ephemeral containers have a subresource of their own.
function creatablePodSpec(spec: Fields): Fields {
  const className = spec.priorityClassName;
  const isBuiltIn = typeof className === 'string' && className.startsWith('system-');
  const fromAdmission = ['priority', 'preemptionPolicy', 'runtimeClassName', 'overhead', 'ephemeralContainers'];
  return without(spec, isBuiltIn ? fromAdmission : [...fromAdmission, 'priorityClassName']);
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

function isNonEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
