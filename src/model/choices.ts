/** Ways to find the Pod of an address that no list of this node has, in the order in which they are tried by default. */
export const lookupWays = ['calico-block', 'pod-cidr', 'directory', 'field-selector'] as const;
export type LookupWay = (typeof lookupWays)[number];

/** Who labels a Namespace so is named by no record of an audit, and not described to other Namespaces. */
export const auditOptOut = { key: 'kube-netfilter-tailer/audit', value: 'redacted' } as const;

export const legacyMetricChoices = ['off', 'namespace', 'name', 'name_with_namespace', 'workload'] as const;

/** How the ends of a packet are named in kube-iptables-tailer's metric; `off`: there is no such metric. */
export type LegacyMetricSetting = (typeof legacyMetricChoices)[number];
