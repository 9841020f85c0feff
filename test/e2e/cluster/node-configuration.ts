import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

export const CGROUPS = '/sys/fs/cgroup';

/** The sandbox of each Pod: a program that waits (images.ts). */
export const PAUSE_IMAGE = 'localhost/pause:1';

/** Writes what the programs of a node are configured with into the folder of its machine, and makes its control group, which has the name of its network. */
export function writeConfiguration({ network, folder }: Machine): void {
  mkdirSync(join(folder, 'cni'));
  writeFileSync(join(folder, 'containerd.toml'), containerd(folder));
  writeFileSync(join(folder, 'kubelet.json'), JSON.stringify(kubelet(network)));
  makeGroup(network);
}

/** Configures the network of its Pods, once it is known which addresses they get; until then the Node is not ready. */
export function writePodNetwork({ folder }: Machine, range: string): void {
  writeFileSync(join(folder, 'cni/10-pods.conflist'), JSON.stringify(podNetwork(range)));
}

/** A veth for each Pod and a route to it, so that packets between Pods of one node cross the FORWARD chain. */
function podNetwork(range: string): object {
  const ipam = { type: 'host-local', ranges: [[{ subnet: range }]], routes: [{ dst: '0.0.0.0/0' }] };
  return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp', ipam }] };
}

function containerd(folder: string): string {
  return `
version = 3
root = "${folder}/containerd"
state = "/run/containerd"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "${isOverlay() ? 'native' : 'overlayfs'}"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  # This machine may lack CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${folder}/cni"
`;
}

function kubelet(group: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${group}`,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    resolvConf: '',
    // A disk that is nearly full is no matter of these tests.
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    containerLogMaxSize: '1Mi',
    containerLogMaxFiles: 3,
    containerLogMonitorInterval: '3s',
    nodeStatusUpdateFrequency: '4s',
    // Else a Pod that ends is looked at every ten seconds only.
    syncFrequency: '5s',
    logging: { verbosity: 2 },
  };
}

/** overlayfs on overlayfs is not possible. */
function isOverlay(): boolean {
  return /^overlay \/ /m.test(readFileSync('/proc/mounts', 'utf8'));
}

/** The kubelet wants its root to be there, in each hierarchy of version 1. */
function makeGroup(name: string): void {
  const hierarchies = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => /^\S+ (\/sys\/fs\/cgroup\S*) cgroup2? /.exec(line)?.slice(1) ?? []);
  for (const folder of hierarchies) mkdirSync(join(folder, name), { recursive: true });
}
