import * as z from 'zod/mini';
import { verdicts } from '../../base/model/packet.ts';
import {
  auditPeersChoices,
  auditSink,
  bitsUpTo,
  listOf,
  mebibytes,
  oneOf,
  path,
  type SettingRow,
  text,
  wholeNumber,
  yesOrNo,
} from './values.ts';
import { isLabelName } from '../../base/platform/api-names.ts';

export const auditSettings = {
  cluster: {
    env: 'CLUSTER_NAME',
    value: 'NAME',
    help: 'name of this cluster in the records of the audit. Default: none',
    schema: z.optional(
      text.check(z.regex(/^[\w.:/@-]{1,253}$/, { error: 'must be at most 253 letters, digits and . _ : / @ -' })),
    ),
  },
  audit: {
    value: 'SINK',
    help: 'where records of dropped flows go (docs/audit.md): stdout, file:PATH, otlp:URL; each at most once. Default: nowhere',
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
    help: 'length of the interval for which each flow has one record',
    default: '60',
    schema: wholeNumber.check(
      z.minimum(1, { error: 'must be 1 to 3600 seconds' }),
      z.maximum(3600, { error: 'must be 1 to 3600 seconds' }),
    ),
  },
  auditQueue: {
    value: 'MIB',
    help: 'size of the queue of records that wait for a receiver, in memory and on disk; if it is full, the oldest are dropped and counted',
    default: '8',
    schema: mebibytes,
  },
  auditPeers: {
    value: 'HOW',
    help: 'shown, or redacted: where the ends are Pods of two namespaces, the audit names only the one whose policy dropped the packet',
    default: 'shown',
    choices: auditPeersChoices,
    schema: oneOf(auditPeersChoices),
  },
  auditIpv4Prefix: {
    value: 'BITS',
    help: 'truncate IPv4 addresses in the audit to this prefix length',
    default: '32',
    schema: bitsUpTo(32),
  },
  auditIpv6Prefix: {
    value: 'BITS',
    help: 'truncate IPv6 addresses in the audit to this prefix length',
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
    help: 'Pod labels that the audit records, for example app.kubernetes.io/name; eight at most. Default: none',
    default: '',
    list: /[,\s]+/,
    schema: listOf(text.check(z.refine(isLabelName, { error: 'is not a label name' }))).check(
      z.maxLength(8, { error: 'must be eight labels at most' }),
      z.refine((list) => new Set(list).size === list.length, { error: 'names a label twice' }),
    ),
  },
  auditFileSize: {
    value: 'MIB',
    help: 'size at which the audit file is packed and a new one begins, which also happens once a day',
    default: '10',
    schema: mebibytes,
  },
  auditFileTotal: {
    value: 'MIB',
    help: 'total size of the packed audit files; above it the oldest is deleted',
    default: '100',
    schema: mebibytes,
  },
  auditOtlpHeaders: {
    value: 'FILE',
    help: 'file with a line "NAME: VALUE" for each header that the OTLP receiver requires; it is read again for each request',
    schema: z.optional(path),
  },
  auditOtlpCa: {
    value: 'FILE',
    help: 'file with the CA certificates (PEM) of the OTLP receiver. Default: those that Node.js trusts',
    schema: z.optional(path),
  },
} as const satisfies Record<string, SettingRow>;
