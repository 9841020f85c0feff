import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

export const CGROUPS = '/sys/fs/cgroup';

/** The sandbox of each Pod: a program that waits (images.ts). */
export const PAUSE_IMAGE = 'localhost/pause:1';

export interface NodePlace {
  /** The control group that contains those of all Pods: `/` if the node has a kernel of its own. */
  readonly group: string;
  /** Where containerd keeps images and containers. */
  readonly containers: string;
  readonly snapshotter: 'native' | 'overlayfs';
  /** How often the kubelet looks at all Pods. */
  readonly syncFrequency: string;
}

/** Writes the configuration of a node's programs into the folder of its machine. */
export function writeConfiguration({ folder }: Machine, place: NodePlace): void {
  mkdirSync(join(folder, 'cni'));
  writeFileSync(join(folder, 'containerd.toml'), containerd(folder, place));
  writeFileSync(join(folder, 'kubelet.json'), JSON.stringify(kubelet(place)));
}

/** A veth for each Pod and a route to it, so that packets between Pods of one node cross the FORWARD chain. */
export function podNetwork(range: string): object {
  const ipam = { type: 'host-local', ranges: [[{ subnet: range }]], routes: [{ dst: '0.0.0.0/0' }] };
  return { cniVersion: '1.0.0', name: 'pods', plugins: [{ type: 'ptp', ipam }] };
}

function containerd(folder: string, { containers, snapshotter }: NodePlace): string {
  return `
version = 3
root = "${containers}"
state = "/run/containerd"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "${snapshotter}"
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

function kubelet({ group, syncFrequency }: NodePlace): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupDriver: 'cgroupfs',
    cgroupRoot: group,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    resolvConf: '',
    // These tests are not about a disk that is nearly full.
    evictionHard: { 'memory.available': '1Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    containerLogMaxSize: '1Mi',
    containerLogMaxFiles: 3,
    containerLogMonitorInterval: '3s',
    nodeStatusUpdateFrequency: '4s',
    syncFrequency,
    logging: { verbosity: 2 },
  };
}

/** overlayfs on overlayfs is not possible. */
export function ownSnapshotter(): NodePlace['snapshotter'] {
  return /^overlay \/ /m.test(readFileSync('/proc/mounts', 'utf8')) ? 'native' : 'overlayfs';
}

/** Makes a control group on this machine: the kubelet needs its root to exist, in each hierarchy of version 1. */
export function makeGroup(name: string): void {
  const hierarchies = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .flatMap((line) => /^\S+ (\/sys\/fs\/cgroup\S*) cgroup2? /.exec(line)?.slice(1) ?? []);
  for (const folder of hierarchies) mkdirSync(join(folder, name), { recursive: true });
}
