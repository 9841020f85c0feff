export const legacyMetricChoices = ['off', 'namespace', 'name', 'name_with_namespace', 'workload'] as const;

/** How the ends of a packet are named in kube-iptables-tailer's metric; `off`: there is no such metric. */
export type LegacyMetricSetting = (typeof legacyMetricChoices)[number];
