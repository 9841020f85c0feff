import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

// The go.mod files are the one place where versions are pinned; everything here reads them.
const goFolder = join(import.meta.dirname, 'go');

export const KUBERNETES_VERSION = pinnedVersion('kubernetes', 'k8s.io/kubernetes');
export const ETCD_VERSION = pinnedVersion('etcd', 'go.etcd.io/etcd/server/v3');

export type BinaryName = 'etcd' | 'kube-apiserver' | 'kubectl' | 'kube-proxy';

/** Absolute path of each binary. */
export type Binaries = Readonly<Record<BinaryName, string>>;

export interface Recipe {
  readonly name: BinaryName;
  readonly version: string;
  /** The folder of the go.mod that pins it. */
  readonly moduleFolder: string;
  readonly package: string;
  readonly ldflags: string;
  /** Minutes on two cores with an empty build cache; kubectl and kube-proxy share most of the API server's packages. */
  readonly minutes: number;
}

export const RECIPES: readonly Recipe[] = [
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

/** Outside the repository, so that a clean checkout does not cost another ten minutes. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  // The XDG specification says that a relative path there is to be ignored.
  const configured = env.XDG_CACHE_HOME;
  const base = configured?.startsWith('/') === true ? configured : join(homedir(), '.cache');
  const versions = `kubernetes-${KUBERNETES_VERSION}_etcd-${ETCD_VERSION}_${process.platform}-${process.arch}`;
  return join(base, 'kube-netfilter-tailer', 'control-plane', versions, 'bin');
}

/** The oldest Go that compiles what a recipe pins, like "1.26.0". */
export function neededGo(recipe: Recipe): string {
  return match(join(recipe.moduleFolder, 'go.mod'), /^go (\S+)$/m);
}

function kubernetesRecipe(name: BinaryName, minutes: number): Recipe {
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
