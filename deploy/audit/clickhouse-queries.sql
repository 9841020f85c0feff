-- Which Pods were denied by a policy in a week. Parameters: policy ('NetworkPolicy shop/default-deny'), since, until.
-- The evidence is `evaluated` or `logged` (docs/audit.md); `named`: a rule of the policy matched, and nothing more is known.
SELECT
  `destination.k8s.namespace.name` AS namespace,
  `destination.k8s.owner.name` AS workload,
  `source.k8s.namespace.name` AS from_namespace,
  if(`source.k8s.owner.name` = '', `source.address`, `source.k8s.owner.name`) AS from_whom,
  `destination.port` AS port,
  sum(`network.packets`) AS packets,
  max(`network.packets_at_least`) AS at_least,
  max(`event.end`) AS last,
  if(`policy.verdict` = '', 'named', `policy.verdict_evidence`) AS evidence
FROM audit FINAL
WHERE `event.name` = 'network.flow.drop'
  AND if(
    `policy.verdict` = '',
    concat(`policy.kind`, ' ', if(`policy.namespace` = '', '', concat(`policy.namespace`, '/')), `security_rule.name`) = {policy:String},
    `policy.verdict` = 'denied' AND has(splitByChar(',', `policy.decided_by`), {policy:String})
  )
  AND `@timestamp` >= {since:DateTime} AND `@timestamp` < {until:DateTime}
GROUP BY ALL
ORDER BY packets DESC, workload, from_whom, port
LIMIT 1000;

-- What is new since a change: pairs that the time before it does not have. Parameters: since, change, until.
SELECT
  `source.k8s.namespace.name` AS from_namespace,
  `source.k8s.owner.name` AS from_workload,
  `destination.k8s.namespace.name` AS namespace,
  `destination.k8s.owner.name` AS workload,
  `destination.port` AS port,
  sumIf(`network.packets`, `@timestamp` >= {change:DateTime}) AS packets,
  minIf(`event.start`, `@timestamp` >= {change:DateTime}) AS first
FROM audit FINAL
WHERE `event.name` = 'network.flow.drop'
  AND `@timestamp` >= {since:DateTime} AND `@timestamp` < {until:DateTime}
GROUP BY ALL
HAVING countIf(`@timestamp` < {change:DateTime}) = 0
ORDER BY packets DESC, from_workload, workload, port
LIMIT 1000;

-- Who scans: sources with many destinations or ports in an hour. Parameters: since, until.
SELECT
  toStartOfHour(`@timestamp`) AS hour,
  `source.k8s.namespace.name` AS from_namespace,
  if(`source.k8s.owner.name` = '', `source.address`, `source.k8s.owner.name`) AS from_whom,
  uniqExact(`destination.address`) AS destinations,
  uniqExact(`destination.port`) AS ports,
  sum(`network.packets`) AS packets
FROM audit FINAL
WHERE `event.name` = 'network.flow.drop' AND `source.kind` NOT IN ('other', 'redacted')
  AND `@timestamp` >= {since:DateTime} AND `@timestamp` < {until:DateTime}
GROUP BY ALL
HAVING destinations >= 20 OR ports >= 20
ORDER BY destinations DESC, ports DESC, from_whom
LIMIT 1000;

-- Export for the auditor, with the gaps: what is not in the log is part of the answer. Parameters: since, until.
SELECT *
FROM audit FINAL
WHERE `@timestamp` >= {since:DateTime} AND `@timestamp` < {until:DateTime}
ORDER BY `@timestamp`, `event.id`
FORMAT CSVWithNames;
