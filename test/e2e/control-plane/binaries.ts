import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The recipe of a program that is built from its Go module. The go.mod files in go/ are the one place where versions are pinned. */
export interface Recipe {
  /** A folder of go/, whose go.mod pins the module. */
  readonly folder: string;
  readonly package: string;
  readonly version: string;
  readonly ldflags?: string;
  readonly tags?: string;
  /** It contains C: gcc and the libraries in the table of programs are needed. */
  readonly cgo?: true;
  /** Minutes on two cores with an empty build cache; all of Kubernetes shares most of the API server's packages. */
  readonly minutes: number;
}

const goFolder = join(import.meta.dirname, 'go');

export const KUBERNETES_VERSION = pinnedVersion('kubernetes', 'k8s.io/kubernetes');
const ETCD_VERSION = pinnedVersion('etcd', 'go.etcd.io/etcd/server/v3');
const HELM_VERSION = pinnedVersion('helm', 'helm.sh/helm/v4');
const ACTIONLINT_VERSION = pinnedVersion('actionlint', 'github.com/rhysd/actionlint');
export const CILIUM_VERSION = pinnedVersion('cilium', 'github.com/cilium/cilium');
export const CALICO_VERSION = pinnedVersion('felix', 'github.com/projectcalico/calico');
const RUNC_VERSION = pinnedVersion('runc', 'github.com/opencontainers/runc');

/** Every program that the tests build. */
export const RECIPES = {
  etcd: { folder: 'etcd', package: 'go.etcd.io/etcd/server/v3', version: ETCD_VERSION, minutes: 2 },
  'kube-apiserver': kubernetes('kube-apiserver', 8),
  kubectl: kubernetes('kubectl', 1),
  'kube-proxy': kubernetes('kube-proxy', 1),
  'kube-controller-manager': kubernetes('kube-controller-manager', 3),
  'kube-scheduler': kubernetes('kube-scheduler', 1),
  kubelet: kubernetes('kubelet', 2),
  containerd: containerd('containerd', 2),
  'containerd-shim-runc-v2': containerd('containerd-shim-runc-v2', 1),
  ctr: containerd('ctr', 1),
  runc: {
    folder: 'runc',
    package: 'github.com/opencontainers/runc',
    version: RUNC_VERSION,
    tags: 'seccomp',
    cgo: true,
    minutes: 1,
  },
  /** Waits; the sandbox of a Pod. */
  pause: { folder: 'pause', package: '.', version: '1', minutes: 1 },
  helm: {
    folder: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    version: HELM_VERSION,
    ldflags: `-X helm.sh/helm/v4/internal/version.version=v${HELM_VERSION}`,
    minutes: 3,
  },
  /** Reads the filters of Hubble's exporter with Cilium's own parser. */
  'cilium-flow-filters': { folder: 'cilium', package: '.', version: CILIUM_VERSION, minutes: 1 },
  'cilium-agent': cilium('daemon', 12),
  'cilium-cni': cilium('plugins/cilium-cni', 1),
  /** The network policy controllers of kube-router and of its fork within k3s, without their other parts. */
  'kube-router': kubeRouter('kube-router', 'cloudnativelabs'),
  'k3s-kube-router': kubeRouter('k3s-kube-router', 'k3s-io'),
  /** The network policy agent of the AWS VPC CNI, its plug-in, and a stand-in for the rest of an EKS node. */
  'aws-network-policy-agent': awsVpcCni('github.com/aws/aws-network-policy-agent', 3),
  'aws-routed-eni-cni-plugin': awsVpcCni('github.com/aws/amazon-vpc-cni-k8s/cmd/routed-eni-cni-plugin', 1),
  'aws-node': awsVpcCni('.', 1),
  /** Calico's Felix without its eBPF data plane, which needs C and BPF programs. */
  'calico-felix': {
    folder: 'felix',
    package: 'github.com/projectcalico/calico/felix/cmd/calico-felix',
    version: CALICO_VERSION,
    minutes: 2,
  },
  /** Checks the workflows. */
  actionlint: {
    folder: 'actionlint',
    package: 'github.com/rhysd/actionlint/cmd/actionlint',
    version: ACTIONLINT_VERSION,
    minutes: 1,
  },
} satisfies Record<string, Recipe>;

export type Program = keyof typeof RECIPES;

/** Where a program is kept once it is built: outside the repository, so that a clean checkout does not build it again. */
export function cachePath(program: Program, env: NodeJS.ProcessEnv): string {
  // The XDG specification says that a relative path there is to be ignored.
  const configured = env.XDG_CACHE_HOME;
  const base = configured?.startsWith('/') === true ? configured : join(homedir(), '.cache');
  const { folder, version } = RECIPES[program];
  return join(base, 'kube-netfilter-tailer/built', `${folder}-${version}_${process.platform}-${process.arch}`, program);
}

export function moduleFolder(program: Program): string {
  return join(goFolder, RECIPES[program].folder);
}

/** The oldest Go that compiles what a recipe pins, like "1.26.0". */
export function neededGo(program: Program): string {
  return match(join(moduleFolder(program), 'go.mod'), /^go (\S+)$/m);
}

function kubernetes(name: string, minutes: number): Recipe {
  return {
    folder: 'kubernetes',
    package: `k8s.io/kubernetes/cmd/${name}`,
    version: KUBERNETES_VERSION,
    ldflags: versionStamps(),
    minutes,
  };
}

function kubeRouter(folder: string, owner: string): Recipe {
  const version = pinnedVersion(folder, `github.com/${owner}/kube-router/v2`);
  return { folder, package: '.', version, minutes: 2 };
}

function cilium(path: string, minutes: number): Recipe {
  return { folder: 'cilium', package: `github.com/cilium/cilium/${path}`, version: CILIUM_VERSION, minutes };
}

/** The folder of the cache is named by the agent's version, from which the plug-in's version follows. */
function awsVpcCni(path: string, minutes: number): Recipe {
  const version = pinnedVersion('aws-vpc-cni', 'github.com/aws/aws-network-policy-agent');
  return { folder: 'aws-vpc-cni', package: path, version, minutes };
}

function containerd(name: string, minutes: number): Recipe {
  const module = 'github.com/containerd/containerd/v2';
  return {
    folder: 'containerd',
    package: `${module}/cmd/${name}`,
    version: pinnedVersion('containerd', module),
    // Their libraries are C.
    tags: 'no_btrfs,no_zfs,no_devmapper',
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
  return match(join(goFolder, folder, 'go.mod'), new RegExp(`(?:^require |^\\t|=> )${module} v(\\S+)`, 'm'));
}

function match(path: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(path, 'utf8'))?.[1];
  if (found === undefined) throw new Error(`[control-plane] ${path} has nothing that matches ${pattern}`);
  return found;
}
