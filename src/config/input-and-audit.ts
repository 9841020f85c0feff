/** The settings of what the agent reads (logs of its node, Pods and policies of the cluster), and of the audit that it writes. */
import * as z from 'zod/mini';
import { lookupWays } from '../model/choices.ts';
import { verdicts } from '../model/packet.ts';
import { isLabelName } from '../platform/api-names.ts';
import {
  auditPeersChoices,
  auditSink,
  bitsUpTo,
  containerRule,
  listOf,
  mebibytes,
  oneOf,
  path,
  podCacheChoices,
  policiesChoices,
  type SettingRow,
  source,
  text,
  unit,
  wholeNumber,
  yesOrNo,
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
      .check(z.regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, { error: 'is no name of a Node' })),
  },
  sources: {
    flag: 'source',
    value: 'SOURCE',
    help:
      "what to read: auto (the kernel's log, wherever this node has it), journal or journal:DIR, file:PATH, " +
      'kernel (the ring buffer /dev/kmsg), containers (logs of kube-proxy and calico-node), program:NAME=PATH (the log ' +
      'file of kube-proxy, or of a program that it is a part of), bpf-trace or bpf-trace:DIR (what BPF programs print, in the ' +
      "tracefs of the node), kernel-drops or kernel-drops:DIR (the kernel's own record of dropped packets, in the same), calico-flows or calico-flows:DIR (what Calico's Felix counts; the folder of its socket)",
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
    help: 'whose logs "containers" means; each part is a list with commas, in which * stands for any text',
    default:
      'kube-system,calico-system/kube-proxy*/kube-proxy kube-system,calico-system/calico-node*/calico-node kube-system/kube-network-policies*,kindnet*/kube-network-policies,kindnet-cni',
    list: /\s+/,
    schema: listOf(containerRule),
  },
  podLogs: {
    value: 'DIR',
    help: 'where the kubelet keeps the logs of containers',
    default: '/var/log/pods',
    schema: path,
  },
  units: {
    flag: 'unit',
    value: 'UNIT',
    help: 'systemd units whose messages "journal" and "auto" read, too: those that kube-proxy is, or is a part of',
    default:
      'kube-proxy k3s k3s-agent snap.kube-proxy.daemon snap.k8s.kube-proxy snap.microk8s.daemon-kubelite ' +
      'calico-node calico-felix',
    list: /[,\s]+/,
    schema: listOf(unit),
  },
  stateDir: {
    value: 'DIR',
    help: 'where positions and counts are kept over restarts',
    default: '/var/lib/kube-netfilter-tailer',
    schema: path,
  },
  podCache: {
    value: 'node|cluster',
    help: "Pods to keep in memory: this node's, others being looked up when needed, or all",
    default: 'node',
    choices: podCacheChoices,
    schema: oneOf(podCacheChoices),
  },
  podLookups: {
    flag: 'pod-lookup',
    value: 'WAY',
    help:
      'ways to look up Pods of other nodes by their addresses, in this order; one that leads nowhere in this cluster is passed ' +
      'over. docs/lookups.md has what each asks and costs',
    default: lookupWays.join(','),
    list: /[,\s]+/,
    choices: lookupWays,
    schema: listOf(oneOf(lookupWays)),
  },
  directory: {
    value: 'DIR',
    help:
      'where the shared directory of Pods is published, with the token for it, as the component shared-directory mounts it. ' +
      'Default: there is none',
    schema: z.optional(path),
  },
  policies: {
    value: 'auto|off',
    help:
      'auto: Events say which network policy denied a packet, at which clause, where the agent may list policies (docs/why.md); ' +
      'off: policies are not read',
    default: 'auto',
    choices: policiesChoices,
    schema: oneOf(policiesChoices),
  },
} as const satisfies Record<string, SettingRow>;

export const auditSettings = {
  cluster: {
    env: 'CLUSTER_NAME',
    value: 'NAME',
    help: 'name of this cluster, for the records of the audit. Default: they name none',
    schema: z.optional(
      text.check(z.regex(/^[\w.:/@-]{1,253}$/, { error: 'must be at most 253 letters, digits and . _ : / @ -' })),
    ),
  },
  audit: {
    value: 'SINK',
    help: 'where records of dropped flows go (docs/audit.md): stdout, file:PATH, otlp:URL; each once at most. Default: nowhere',
    default: '',
    list: /[,\s]+/,
    schema: listOf(auditSink).check(
      z.refine((list) => new Set(list.map(({ kind }) => kind)).size === list.length, {
        error: 'names a kind of sink twice',
      }),
    ),
  },
  auditVerdicts: {
    flag: 'audit-verdict',
    value: 'VERDICT',
    help: 'which packets the audit records: dropped, rejected, logged (only the log is known) or accepted',
    default: 'dropped,rejected',
    list: /[,\s]+/,
    choices: verdicts,
    schema: listOf(oneOf(verdicts)),
  },
  auditInterval: {
    value: 'SECONDS',
    help: 'packets of one flow in so many seconds are one record',
    default: '60',
    schema: wholeNumber.check(
      z.minimum(1, { error: 'must be 1 to 3600 seconds' }),
      z.maximum(3600, { error: 'must be 1 to 3600 seconds' }),
    ),
  },
  auditQueue: {
    value: 'MIB',
    help: 'records that wait for a receiver, in memory and on disk; then the oldest are dropped and counted',
    default: '8',
    schema: mebibytes,
  },
  auditPeers: {
    value: 'HOW',
    help: 'shown, or redacted: where the ends are Pods of two namespaces, the audit names only the one whose policy dropped it',
    default: 'shown',
    choices: auditPeersChoices,
    schema: oneOf(auditPeersChoices),
  },
  auditIpv4Prefix: {
    value: 'BITS',
    help: 'the audit cuts IPv4 addresses to so many bits',
    default: '32',
    schema: bitsUpTo(32),
  },
  auditIpv6Prefix: {
    value: 'BITS',
    help: 'the audit cuts IPv6 addresses to so many bits',
    default: '128',
    schema: bitsUpTo(128),
  },
  auditOptOut: {
    value: 'true|false',
    help: 'the audit does not name Pods of Namespaces with the label kube-netfilter-tailer/audit=redacted; needs the right to watch Namespaces',
    default: 'false',
    schema: yesOrNo,
  },
  auditLabels: {
    flag: 'audit-label',
    value: 'LABEL',
    help: 'the audit has these labels of Pods, for example app.kubernetes.io/name; eight at most. Default: none',
    default: '',
    list: /[,\s]+/,
    schema: listOf(text.check(z.refine(isLabelName, { error: 'is no name of a label' }))).check(
      z.maxLength(8, { error: 'must be eight labels at most' }),
      z.refine((list) => new Set(list).size === list.length, { error: 'names a label twice' }),
    ),
  },
  auditFileSize: {
    value: 'MIB',
    help: 'the file of the audit is packed and followed by another one at this size, and each day',
    default: '10',
    schema: mebibytes,
  },
  auditFileTotal: {
    value: 'MIB',
    help: 'packed files of the audit together; past it the oldest is deleted',
    default: '100',
    schema: mebibytes,
  },
  auditOtlpHeaders: {
    value: 'FILE',
    help: 'file with a line "NAME: VALUE" for each header that the OTLP receiver asks for; read again for each request',
    schema: z.optional(path),
  },
  auditOtlpCa: {
    value: 'FILE',
    help: "file with certificates (PEM) that the OTLP receiver's must come from. Default: those that Node.js trusts",
    schema: z.optional(path),
  },
} as const satisfies Record<string, SettingRow>;
