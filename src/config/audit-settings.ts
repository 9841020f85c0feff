import { verdicts } from '../model/packet.ts';
import type { Setting } from './setting.ts';

/** The settings of the audit, as rows of the table of all. */
export const auditSettings = {
  cluster: {
    flag: 'cluster',
    env: 'CLUSTER_NAME',
    value: 'NAME',
    help: 'name of this cluster, for the records of the audit. Default: they name none',
  },
  audit: {
    flag: 'audit',
    env: 'AUDIT',
    value: 'SINK',
    help: 'where records of dropped flows go (docs/audit.md): stdout, file:PATH, otlp:URL; each once at most. Default: nowhere',
    default: '',
    list: /[,\s]+/,
  },
  auditVerdicts: {
    flag: 'audit-verdict',
    env: 'AUDIT_VERDICTS',
    value: 'VERDICT',
    help: 'which packets the audit records: dropped, rejected, logged (only the log is known) or accepted',
    default: 'dropped,rejected',
    list: /[,\s]+/,
    choices: verdicts,
  },
  auditInterval: {
    flag: 'audit-interval',
    env: 'AUDIT_INTERVAL',
    value: 'SECONDS',
    help: 'packets of one flow in so many seconds are one record',
    type: 'number',
    default: '60',
  },
  auditQueue: {
    flag: 'audit-queue',
    env: 'AUDIT_QUEUE',
    value: 'MIB',
    help: 'records that wait for a receiver, in memory and on disk; then the oldest are dropped and counted',
    type: 'number',
    default: '8',
  },
  auditFileSize: {
    flag: 'audit-file-size',
    env: 'AUDIT_FILE_SIZE',
    value: 'MIB',
    help: 'the file of the audit is packed and followed by another one at this size, and each day',
    type: 'number',
    default: '10',
  },
  auditFileTotal: {
    flag: 'audit-file-total',
    env: 'AUDIT_FILE_TOTAL',
    value: 'MIB',
    help: 'packed files of the audit together; past it the oldest is deleted',
    type: 'number',
    default: '100',
  },
  auditOtlpHeaders: {
    flag: 'audit-otlp-headers',
    env: 'AUDIT_OTLP_HEADERS',
    value: 'FILE',
    help: 'file with a line "NAME: VALUE" for each header that the OTLP receiver asks for; read again for each request',
  },
  auditOtlpCa: {
    flag: 'audit-otlp-ca',
    env: 'AUDIT_OTLP_CA',
    value: 'FILE',
    help: "file with certificates (PEM) that the OTLP receiver's must come from. Default: those that Node.js trusts",
  },
} as const satisfies Record<string, Setting>;
