/** Who labels a Namespace so is named by no record of an audit, and not described to other Namespaces. */
export const auditOptOut = { key: 'kube-netfilter-tailer/audit', value: 'redacted' } as const;
