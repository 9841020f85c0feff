/** The settings of the agent's inputs: logs of its node, Pods and policies of the cluster. */
import * as z from 'zod/mini';
import { lookupWays } from '../../base/model/choices.ts';
import {
  containerRule,
  listOf,
  oneOf,
  path,
  podCacheChoices,
  policiesChoices,
  type SettingRow,
  source,
  unit,
} from './values.ts';

const singleKinds = ['journal', 'bpf-trace', 'kernel-drops', 'calico-flows'];

export const inputSettings = {
  node: {
    env: 'NODE_NAME',
    value: 'NAME',
    help: 'name of this Node. In a Pod: valueFrom fieldRef spec.nodeName',
    schema: z
      .string({
        error: ({ input }) =>
          input === undefined
            ? 'is not set; in a DaemonSet it comes from valueFrom: fieldRef: fieldPath: spec.nodeName'
            : 'must be text; put it in quotes',
      })
      .check(z.regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'is not a Node name' })),
  },
  sources: {
    flag: 'source',
    value: 'SOURCE',
    help:
      "what to read: auto (the kernel's log, wherever this node has it), journal or journal:DIR, file:PATH, " +
      'kernel (the ring buffer /dev/kmsg), containers (logs of kube-proxy and calico-node), program:NAME=PATH (the log ' +
      'file of kube-proxy, or of a program that includes it), bpf-trace or bpf-trace:DIR (output of BPF programs; DIR: the ' +
      "node's tracefs), kernel-drops or kernel-drops:DIR (the kernel's own record of dropped packets; DIR: the same), calico-flows or calico-flows:DIR (flows of Calico's Felix; DIR: the folder of its socket)",
    default: 'auto,containers',
    list: /[,\n]/,
    schema: listOf(source).check(
      z.minLength(1, { error: 'names nothing to read' }),
      z.refine((list) => singleKinds.every((kind) => list.filter((each) => each.kind === kind).length <= 1), {
        error: `names one of ${singleKinds.join(', ')} more than once; only one folder can be read`,
      }),
      z.refine((list) => new Set(list.map((each) => JSON.stringify(each))).size === list.length, {
        error: 'names something twice',
      }),
    ),
  },
  containers: {
    value: 'NAMESPACES/PODS/CONTAINERS',
    help: 'the containers whose logs the source "containers" reads; each part is a list with commas, in which * matches any text',
    default:
      'kube-system,calico-system/kube-proxy*/kube-proxy kube-system,calico-system/calico-node*/calico-node kube-system/kube-network-policies*,kindnet*/kube-network-policies,kindnet-cni',
    list: /\s+/,
    schema: listOf(containerRule),
  },
  podLogs: {
    value: 'DIR',
    help: 'folder in which the kubelet keeps container logs',
    default: '/var/log/pods',
    schema: path,
  },
  units: {
    flag: 'unit',
    value: 'UNIT',
    help: 'systemd units that "journal" and "auto" also read: kube-proxy and programs that include it',
    default:
      'kube-proxy k3s k3s-agent snap.kube-proxy.daemon snap.k8s.kube-proxy snap.microk8s.daemon-kubelite ' +
      'calico-node calico-felix',
    list: /[,\s]+/,
    schema: listOf(unit),
  },
  stateDir: {
    value: 'DIR',
    help: 'folder that keeps positions and counts across restarts',
    default: '/var/lib/kube-netfilter-tailer',
    schema: path,
  },
  podCache: {
    value: 'node|cluster',
    help: "node: keep this node's Pods in memory and look up others when needed; cluster: keep all Pods",
    default: 'node',
    choices: podCacheChoices,
    schema: oneOf(podCacheChoices),
  },
  podLookups: {
    flag: 'pod-lookup',
    value: 'WAY',
    help:
      'ways to look up Pods of other nodes by their addresses, in this order; those that cannot work in this cluster are ' +
      'skipped. docs/lookups.md says what each requests and costs',
    default: lookupWays.join(','),
    list: /[,\s]+/,
    choices: lookupWays,
    schema: listOf(oneOf(lookupWays)),
  },
  directory: {
    value: 'DIR',
    help:
      'folder with the address of the shared directory of Pods and its token, which the component shared-directory mounts. ' +
      'Default: none',
    schema: z.optional(path),
  },
  policies: {
    value: 'auto|off',
    help:
      'auto: if the agent may list policies, Events say which policy and rule denied a packet (docs/why.md); ' +
      'off: policies are not read',
    default: 'auto',
    choices: policiesChoices,
    schema: oneOf(policiesChoices),
  },
} as const satisfies Record<string, SettingRow>;
