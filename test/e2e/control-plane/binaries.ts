import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

// The go.mod files are the one place where versions are pinned; everything here reads them.
const goFolder = join(import.meta.dirname, 'go');

export const KUBERNETES_VERSION = pinnedVersion('kubernetes', 'k8s.io/kubernetes');
export const ETCD_VERSION = pinnedVersion('etcd', 'go.etcd.io/etcd/server/v3');
export const HELM_VERSION = pinnedVersion('helm', 'helm.sh/helm/v4');

export type BinaryName = 'etcd' | 'kube-apiserver' | 'kubectl' | 'kube-proxy';

/** Absolute path of each binary. */
export type Binaries = Readonly<Record<BinaryName, string>>;

/** What a cluster with a node takes beside them; built when a test asks for them. */
export type NodeBinaryName = 'kube-controller-manager' | 'kube-scheduler' | 'kubelet-server';

export interface Recipe<Name extends string = string> {
  readonly name: Name;
  readonly version: string;
  /** The folder of the go.mod that pins it. */
  readonly moduleFolder: string;
  readonly package: string;
  readonly ldflags: string;
  /** Minutes on two cores with an empty build cache; all of Kubernetes shares most of the API server's packages. */
  readonly minutes: number;
}

export const RECIPES: readonly Recipe<BinaryName>[] = [
  {
    name: 'etcd',
    version: ETCD_VERSION,
    moduleFolder: join(goFolder, 'etcd'),
    package: 'go.etcd.io/etcd/server/v3',
    ldflags: '-s -w',
    minutes: 2,
  },
  kubernetesRecipe('kube-apiserver', 8),
  kubernetesRecipe('kubectl', 1),
  kubernetesRecipe('kube-proxy', 1),
];

export const NODE_RECIPES: readonly Recipe<'kube-controller-manager' | 'kube-scheduler'>[] = [
  kubernetesRecipe('kube-controller-manager', 3),
  kubernetesRecipe('kube-scheduler', 1),
];

/** This repository's own, of Kubernetes' libraries. */
export const KUBELET_SERVER_RECIPE: Recipe<'kubelet-server'> = {
  ...kubernetesRecipe('kubelet-server', 1),
  package: './kubelet-server',
};

/** No part of the control plane: built when a test of the chart asks for it. */
export const HELM_RECIPE: Recipe<'helm'> = {
  name: 'helm',
  version: HELM_VERSION,
  moduleFolder: join(goFolder, 'helm'),
  package: 'helm.sh/helm/v4/cmd/helm',
  ldflags: `-s -w -X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}`,
  minutes: 3,
};

/** Checks the workflows; built when a test asks for it. */
export const ACTIONLINT_RECIPE: Recipe<'actionlint'> = {
  name: 'actionlint',
  version: pinnedVersion('actionlint', 'github.com/rhysd/actionlint'),
  moduleFolder: join(goFolder, 'actionlint'),
  package: 'github.com/rhysd/actionlint/cmd/actionlint',
  ldflags: '-s -w',
  minutes: 1,
};

/** Outside the repository, so that a clean checkout does not cost another ten minutes. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return cachePath(env, 'control-plane', `kubernetes-${KUBERNETES_VERSION}_etcd-${ETCD_VERSION}`);
}

/** Another one for each text of its sources. */
export function kubeletServerCacheFolder(env: NodeJS.ProcessEnv): string {
  const folder = join(KUBELET_SERVER_RECIPE.moduleFolder, 'kubelet-server');
  const digest = createHash('sha256');
  for (const name of readdirSync(folder).toSorted()) digest.update(readFileSync(join(folder, name)));
  return cachePath(env, 'kubelet-server', `kubernetes-${KUBERNETES_VERSION}_${digest.digest('hex').slice(0, 16)}`);
}

export function actionlintCacheFolder(env: NodeJS.ProcessEnv): string {
  return cachePath(env, 'actionlint', ACTIONLINT_RECIPE.version);
}

export function helmCacheFolder(env: NodeJS.ProcessEnv): string {
  return cachePath(env, 'helm', HELM_VERSION);
}

function cachePath(env: NodeJS.ProcessEnv, what: string, versions: string): string {
  // The XDG specification says that a relative path there is to be ignored.
  const configured = env.XDG_CACHE_HOME;
  const base = configured?.startsWith('/') === true ? configured : join(homedir(), '.cache');
  return join(base, 'kube-netfilter-tailer', what, `${versions}_${process.platform}-${process.arch}`, 'bin');
}

/** The oldest Go that compiles what a recipe pins, like "1.26.0". */
export function neededGo(recipe: Recipe): string {
  return match(join(recipe.moduleFolder, 'go.mod'), /^go (\S+)$/m);
}

function kubernetesRecipe<Name extends string>(name: Name, minutes: number): Recipe<Name> {
  return {
    name,
    version: KUBERNETES_VERSION,
    moduleFolder: join(goFolder, 'kubernetes'),
    package: `k8s.io/kubernetes/cmd/${name}`,
    ldflags: `-s -w ${versionStamps()}`,
    minutes,
  };
}

// The variables that hack/lib/version.sh of Kubernetes stamps; without them every binary says v0.0.0-master.
function versionStamps(): string {
  const [major = '', minor = ''] = KUBERNETES_VERSION.split('.');
  const stamps = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor, gitTreeState: 'archive' };
  return ['k8s.io/client-go/pkg/version', 'k8s.io/component-base/version']
    .flatMap((variablePackage) =>
      Object.entries(stamps).map(([variable, value]) => `-X ${variablePackage}.${variable}=${value}`),
    )
    .join(' ');
}

function pinnedVersion(folder: string, module: string): string {
  return match(join(goFolder, folder, 'go.mod'), new RegExp(`^(?:require |\\t)${module} v(\\S+)`, 'm'));
}

function match(path: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(path, 'utf8'))?.[1];
  if (found === undefined) throw new Error(`[control-plane] ${path} has nothing that matches ${pattern}`);
  return found;
}
