/** Ways to find the Pod of an address that no list of this node has, in the order in which they are tried by default. */
export const lookupWays = ['calico-block', 'pod-cidr', 'directory', 'field-selector'] as const;
export type LookupWay = (typeof lookupWays)[number];

/** The audit and other Namespaces' Events do not name a Namespace with this label. */
export const auditOptOut = { key: 'kube-netfilter-tailer/audit', value: 'redacted' } as const;

export const legacyMetricChoices = ['off', 'namespace', 'name', 'name_with_namespace', 'workload'] as const;

/** Names the ends of a packet in kube-iptables-tailer's metric; `off`: there is no such metric. */
export type LegacyMetricSetting = (typeof legacyMetricChoices)[number];
