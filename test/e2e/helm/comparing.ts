import type { Manifest } from '../../deploy/manifests.ts';

/** The labels that every object of the chart has and kustomize's objects do not. */
const labelsOfHelm = [
  'helm.sh/chart',
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
];

/**
 * Objects by kind and name, in a form in which equal objects mean the same to the API server. Throws if an object is
 * there twice.
 */
export function comparable(manifests: readonly Manifest[]): Record<string, unknown> {
  const objects: Record<string, unknown> = {};
  for (const manifest of manifests) {
    const key = `${manifest.apiVersion} ${manifest.kind} ${manifest.metadata.name}`;
    if (key in objects) throw new Error(`${key} is there twice`);
    objects[key] = sorted(manifest);
  }
  return objects;
}

/** Leaves out the Namespace, which the chart does not make because helm would delete it with the release. */
export function withoutNamespace(manifests: readonly Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind !== 'Namespace');
}

/** Removes what helm alone adds. Throws if it is missing, because then nothing would distinguish releases. */
export function withoutHelmsLabels(manifests: readonly Manifest[]): Manifest[] {
  return manifests.map((original) => {
    const manifest = structuredClone(original);
    remove(manifest.metadata.labels, labelsOfHelm);
    const { metadata: _, ...fields } = manifest;
    removeRelease(fields);
    return manifest;
  });
}

type Labels = Record<string, string> | undefined;

/**
 * Pods, and what selects them, have the label of their release, so that two releases in a namespace do not touch each
 * other's Pods.
 */
function removeRelease(value: unknown, key = ''): void {
  if (typeof value !== 'object' || value === null) return;
  if (['labels', 'matchLabels'].includes(key) && 'app.kubernetes.io/name' in value)
    remove(value as Labels, ['app.kubernetes.io/instance']);
  for (const [name, field] of Object.entries(value)) removeRelease(field, name);
}

function remove(labels: Labels, names: readonly string[]): void {
  for (const name of names) {
    if (labels?.[name] === undefined) throw new Error(`there is no label ${name} in ${JSON.stringify(labels)}`);
    delete labels[name];
  }
}

/** Variables, volumes and mounts are maps by name to the API server. kustomize puts those that a patch adds first. */
function sorted(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => sorted(item));
    return ['env', 'volumes', 'volumeMounts'].includes(key)
      ? items.toSorted((left, right) => nameOf(left).localeCompare(nameOf(right)))
      : items;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, sorted(field, name)]));
}

function nameOf(item: unknown): string {
  return typeof item === 'string' ? item : (item as { name: string }).name;
}
