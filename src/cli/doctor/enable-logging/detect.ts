/** Finds out which network plug-ins run, by the labels of their Pods. */
import { type Api, itemsOfAnswer, lookAtFelix, refusalText } from '../api.ts';
import { at, type Json, list, text } from '../../../base/platform/json.ts';

export type PlugIn =
  | 'calico'
  | 'canal'
  | 'cilium'
  | 'gke-dataplane-v2'
  | 'aws-vpc-cni'
  | 'antrea'
  | 'ovn-kubernetes'
  | 'kube-router'
  | 'k3s'
  | 'azure-npm'
  | 'kube-network-policies'
  | 'kindnet'
  | 'flannel'
  | 'weave';

export type Version = readonly [major: number, minor: number, patch: number];

export interface Detection {
  plugIns: readonly PlugIn[];
  calico: {
    /** The version in the tag of calico-node's image; undefined if the tag has none. */
    version: Version | undefined;
    /** Undefined if FelixConfiguration could not be read. */
    bpf: boolean | undefined;
    /** Settings of LOG rules that the FelixConfiguration `default` has now. They may stand between single quotes of a shell. */
    earlier: Readonly<Record<string, string | number>>;
    /** The node's own FelixConfiguration, if its log prefix hides that of `default`. */
    hiding: readonly string[];
    /** Whether kubectl can apply objects of projectcalico.org/v3. */
    isServed: boolean;
  };
  hasAwsPolicyAgent: boolean;
  /** Why the cluster, or a part of it, could not be read. */
  obstacles: readonly string[];
}

/** Labels of Pods, and Namespaces besides kube-system: in any other, a tenant may give these labels to a Pod. */
const agents: readonly (readonly [plugIn: PlugIn, labels: string, namespaces?: readonly string[]])[] = [
  ['calico', 'k8s-app=calico-node', ['calico-system']],
  ['canal', 'k8s-app=canal'],
  ['cilium', 'k8s-app=cilium', ['cilium', 'cilium-system']],
  ['aws-vpc-cni', 'k8s-app=aws-node'],
  ['antrea', 'app=antrea,component=antrea-agent'],
  ['ovn-kubernetes', 'app=ovnkube-node', ['openshift-ovn-kubernetes', 'ovn-kubernetes']],
  ['kube-router', 'k8s-app=kube-router'],
  ['azure-npm', 'k8s-app=azure-npm'],
  ['kube-network-policies', 'k8s-app=kube-network-policies'],
  ['kindnet', 'k8s-app=kindnet'],
  ['flannel', 'app=flannel', ['kube-flannel']],
  ['weave', 'name=weave-net'],
];

/** Finds the plug-ins, with no more than the agent's rights. Never rejects. */
export async function detectPlugIns(api: Pick<Api, 'request'>, node: string): Promise<Detection> {
  const obstacles = new Set<string>();
  const first = async (path: string, query: Record<string, string | number>): Promise<unknown> => {
    const found = itemsOfAnswer(await api.request('GET', path, { query: { ...query, limit: 1 } }));
    if (found.kind === 'refused') obstacles.add(found.why);
    return found.kind === 'refused' ? undefined : found.items[0];
  };
  const anyPod = async (labelSelector: string, namespaces: readonly string[]): Promise<unknown> => {
    const paths = ['kube-system', ...namespaces].map((namespace) => `/api/v1/namespaces/${namespace}/pods`);
    const found = await Promise.all(paths.map((path) => first(path, { labelSelector })));
    return found.find((pod) => pod !== undefined);
  };
  const [pods, anyNode, groups, { felix, defaultSpec, objectWith }] = await Promise.all([
    Promise.all(agents.map(async ([, labelSelector, namespaces = []]) => await anyPod(labelSelector, namespaces))),
    first('/api/v1/nodes', {}),
    api.request('GET', '/apis'),
    lookAtFelix(api, node),
  ]);
  if (groups.kind === 'refused') obstacles.add(refusalText(groups));
  const found = new Map<PlugIn, unknown>();
  for (const [i, [plugIn]] of agents.entries()) if (pods[i] !== undefined) found.set(nameOf(plugIn, pods[i]), pods[i]);
  // k3s enforces policies in its own process, which has no Pod. Another plug-in may replace that, so k3s counts only if none is found.
  if (found.size === 0 && isK3s(anyNode)) found.set('k3s', anyNode);
  const calicoPod = found.get('calico') ?? found.get('canal');
  return {
    plugIns: [...found.keys()],
    calico: {
      version: versionOf(imagesOf(calicoPod)),
      bpf: felix.kind === 'settings' ? felix.settings.bpfEnabled === true : felix.kind === 'absent' ? false : undefined,
      earlier: earlierOf(defaultSpec),
      hiding: [objectWith('logPrefix')].filter((name) => name !== 'default'),
      isServed:
        groups.kind === 'answered' &&
        list(at(groups.body, 'groups')).some((group) => at(group, 'name') === 'projectcalico.org'),
    },
    hasAwsPolicyAgent: imagesOf(found.get('aws-vpc-cni')).some((image) => image.includes('network-policy-agent')),
    obstacles: [...obstacles],
  };
}

/** GKE's Cilium has the labels of Cilium, but the names of its Pods begin with `anetd`. */
function nameOf(plugIn: PlugIn, pod: unknown): PlugIn {
  return plugIn === 'cilium' && text(at(pod, 'metadata', 'name'))?.startsWith('anetd') === true
    ? 'gke-dataplane-v2'
    : plugIn;
}

function isK3s(node: unknown): boolean {
  return /\+(?:k3s|rke2)/.test(text(at(node, 'status', 'nodeInfo', 'kubeletVersion')) ?? '');
}

function imagesOf(pod: unknown): string[] {
  return list(at(pod, 'spec', 'containers')).flatMap((container) => text(at(container, 'image')) ?? []);
}

function earlierOf(spec: Json): Record<string, string | number> {
  const names = ['logPrefix', 'logActionRateLimit', 'logActionRateLimitBurst'];
  const settings = names.map((name) => [name, at(spec, name)] as const);
  return Object.fromEntries(settings.flatMap(([name, value]) => (isQuotable(value) ? [[name, value]] : [])));
}

function isQuotable(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && /^[ -&(-~]{1,128}$/.test(value));
}

function versionOf(images: readonly string[]): Version | undefined {
  for (const image of images) {
    const [, major, minor, patch] = /\/node:v(\d{1,3})\.(\d{1,3})\.(\d{1,3})/.exec(image) ?? [];
    if (major !== undefined) return [Number(major), Number(minor), Number(patch)];
  }
  return undefined;
}

export interface Recipe {
  name: string;
  /** Whether the plug-in can log. `switch`: after `commands`; `ready`: it logs already; `no`: it cannot. */
  works: 'switch' | 'ready' | 'no';
  /** The reason, as one sentence without a full stop. */
  why: string;
  before?: readonly string[];
  commands?: readonly string[];
  /** The file that `commands` apply. */
  manifest?: { file: string; text: string };
  undo?: readonly string[];
  cost?: string;
  page: `docs/${string}`;
  /** Whether the component kernel-drops shows its drops, without any logging (docs/kernel-drops.md#by-network). */
  kernelDrops: boolean;
}
