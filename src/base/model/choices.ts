/** Ways to find the Pod of an address that this node's lists do not have, in the default order. */
export const lookupWays = ['calico-block', 'pod-cidr', 'directory', 'field-selector'] as const;
export type LookupWay = (typeof lookupWays)[number];

/** A Namespace with this label is named neither in the audit nor in Events of other Namespaces. */
export const auditOptOut = { key: 'kube-netfilter-tailer/audit', value: 'redacted' } as const;

export const legacyMetricChoices = ['off', 'namespace', 'name', 'name_with_namespace', 'workload'] as const;

/** How kube-iptables-tailer's metric names the ends of a packet. With `off` the metric does not exist. */
export type LegacyMetricSetting = (typeof legacyMetricChoices)[number];
