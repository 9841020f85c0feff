import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { loadAll } from 'js-yaml';

export const root = join(import.meta.dirname, '../..');
/** Folders whose files are kustomize's. */
const folders = ['base', 'overlays', 'components'].map((name) => join(root, 'deploy', name));

/** The fields of any object that the tests look at. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
}

export interface Kustomization {
  kind: 'Kustomization' | 'Component';
  resources?: string[];
  components?: string[];
  /** A file in the same folder, or the text of the patch. */
  patches?: { path?: string }[];
  images?: { name: string; newName?: string; newTag?: string }[];
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { fieldRef: { fieldPath: string } };
}

export interface Container {
  name: string;
  image: string;
  args: string[];
  env?: Variable[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  resources: { requests: Record<string, string>; limits: Record<string, string> };
  securityContext: Record<string, unknown>;
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface Probe {
  initialDelaySeconds?: number;
  httpGet: { path: string; port: string };
}

export interface PodSpec {
  containers: Container[];
  securityContext: Record<string, unknown>;
  volumes?: { name: string; hostPath?: { path: string; type: string } }[];
  [field: string]: unknown;
}

export interface DaemonSet extends Manifest {
  kind: 'DaemonSet';
  spec: {
    selector: { matchLabels: Record<string, string> };
    minReadySeconds: number;
    updateStrategy: unknown;
    template: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  };
}

/** Paths of all YAML files under deploy/ that are kustomize's, relative to the project. */
export function manifestFiles(): string[] {
  return folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.yaml'))
    .map((path) => relative(root, path))
    .toSorted();
}

/** Returns all objects of a file. Throws if it is not YAML, or has a key twice. */
export function readManifests(file: string): Manifest[] {
  return parseManifests(readFileSync(join(root, file), 'utf8'));
}

export function parseManifests(text: string): Manifest[] {
  return loadAll(text) as Manifest[];
}

export function readKustomization(file: string): Kustomization {
  return readManifests(file)[0] as unknown as Kustomization;
}

export function daemonSetOf(manifests: readonly Manifest[]): DaemonSet {
  const found = manifests.find((manifest): manifest is DaemonSet => manifest.kind === 'DaemonSet');
  if (found === undefined) throw new Error('there is no DaemonSet');
  return found;
}

/** Returns the names of the folders in deploy/overlays or deploy/components. */
export function foldersOf(name: 'overlays' | 'components'): string[] {
  return readdirSync(join(root, 'deploy', name)).toSorted();
}
