/**
 * The verdict of Calico's policies together with those of Kubernetes, written according to the comments of Calico's API
 * (api/pkg/apis/projectcalico/v3); if they say nothing, as libcalico-go and Felix do it. Slow, and shares no code with
 * the evaluation under test.
 */
import type { End, PolicyFlow } from '../../../../src/explain/policies/policies.ts';
import { beforePolicies, type Cluster, inside, kubernetesReading, type Literal } from '../literal.ts';

type Any = any; // oxlint-disable-line typescript/no-explicit-any -- objects as they are in JSON
type Labels = Record<string, string>;
type Action = 'Allow' | 'Deny' | 'Pass';

/** One policy, in its place within its tier. */
interface Placed {
  order: number;
  name: string;
  /** Policies of the same order are sorted by name within one family; between two families either may come first. */
  family: string;
  decides: () => Action | undefined;
}

/** `cluster.policies` has all objects: policies, tiers, sets of networks, ServiceAccounts. */
export function literalCalicoVerdict(cluster: Cluster, flow: PolicyFlow, direction: 'ingress' | 'egress'): Literal {
  const before = beforePolicies(flow, direction);
  if (before !== undefined) return before;
  const own = (direction === 'ingress' ? flow.destination : flow.source) as End & { kind: 'pod' };
  const kubernetes = kubernetesReading(cluster, flow, direction);
  const objects = cluster.policies as Any[];
  const of = (group: string, kind: string): Any[] =>
    objects.filter((each) => each.kind === kind && each.apiVersion.startsWith(group));

  const tiers = [
    { name: 'kube-admin', order: 1000, action: 'Pass' },
    { name: 'default', order: 1_000_000, action: 'Deny' },
    { name: 'kube-baseline', order: 10_000_000, action: 'Pass' },
    ...of('projectcalico.org', 'Tier').map(({ metadata, spec }) => ({
      name: metadata.name,
      order: spec.order ?? Infinity,
      action: spec.defaultAction ?? 'Deny',
    })),
  ].toSorted((a, b) => (a.order === b.order ? (a.name < b.name ? -1 : 1) : a.order < b.order ? -1 : 1));
  return fromTier(0);

  /** "Tiers with higher order are applied after those with lower order"; after the last one the profile of the Namespace allows. */
  function fromTier(index: number): Literal {
    const tier = tiers[index];
    if (tier === undefined) return 'admits';
    const policies = placed(tier.name);
    if (policies.length === 0) return fromTier(index + 1);
    const orders = [...new Set(policies.map(({ order }) => order))].toSorted((a, b) => (a < b ? -1 : 1));
    for (const order of orders) {
      const equal = policies.filter((each) => each.order === order).toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const actions = equal.map(({ decides }) => decides()).filter((action) => action !== undefined);
      const isSorted = new Set(equal.map(({ family }) => family)).size === 1;
      const outcomes = new Set((isSorted ? actions.slice(0, 1) : actions).map((action) => outcomeOf(action, index)));
      const [only] = outcomes;
      if (outcomes.size > 1) return 'any';
      if (only !== undefined) return only;
    }
    return tier.action === 'Deny' ? 'denies' : fromTier(index + 1);
  }

  function outcomeOf(action: Action, index: number): Literal {
    if (action === 'Pass') return fromTier(index + 1);
    return action === 'Deny' ? 'denies' : 'admits';
  }

  /** Policies of the tier that select the Pod in this direction. */
  function placed(tier: string): Placed[] {
    const found: Placed[] = [];
    for (const kind of ['NetworkPolicy', 'GlobalNetworkPolicy'])
      for (const policy of of('projectcalico.org', kind))
        if ((policy.spec.tier ?? 'default') === tier && calicoSelects(policy))
          found.push({
            order: policy.spec.order ?? Infinity,
            name: `${policy.metadata.name}/${policy.metadata.namespace ?? ''}/${kind}`,
            family: 'Calico',
            decides: () => calicoDecides(policy),
          });
    if (tier === 'default')
      for (const policy of of('networking.k8s.io', 'NetworkPolicy').filter(kubernetes.networkPolicySelects))
        found.push({
          order: 1000,
          name: policy.metadata.name,
          family: 'NetworkPolicy',
          decides: () => (kubernetes.networkPolicyAdmits(policy) ? 'Allow' : undefined),
        });
    const clusterWide = of('policy.networking.k8s.io', 'ClusterNetworkPolicy');
    const admin = [...clusterWide.filter((each) => each.spec.tier === 'Admin'), ...of('policy', 'AdminNetworkPolicy')];
    const baseline = [
      ...clusterWide.filter((each) => each.spec.tier === 'Baseline'),
      ...of('policy', 'BaselineAdminNetworkPolicy'),
    ];
    for (const policy of tier === 'kube-admin' ? admin : tier === 'kube-baseline' ? baseline : []) {
      if (!kubernetes.subject(policy.spec.subject) || !(policy.spec[direction]?.length > 0)) continue;
      found.push({
        order: policy.spec.priority ?? Infinity,
        name: policy.metadata.name,
        family: policy.kind,
        decides: () => {
          const action = policy.spec[direction].find((rule: Any) => kubernetes.clusterRule(rule))?.action;
          return action === 'Accept' ? 'Allow' : action;
        },
      });
    }
    return found;
  }

  function calicoSelects({ metadata, spec }: Any): boolean {
    if (spec.preDNAT === true || spec.doNotTrack === true) return false;
    const given = spec.types ?? defaultTypes(spec);
    if (!given.includes(direction === 'ingress' ? 'Ingress' : 'Egress')) return false;
    if (metadata.namespace !== undefined && metadata.namespace !== own.pod.namespace) return false;
    const { labels, namespaceLabels, accountLabels } = podLabels(own);
    return (
      selected(spec.selector, labels) &&
      selected(spec.namespaceSelector, namespaceLabels) &&
      selected(spec.serviceAccountSelector, accountLabels)
    );
  }

  function calicoDecides({ metadata, spec }: Any): Action | undefined {
    return (spec[direction] ?? []).find((rule: Any) => rule.action !== 'Log' && matches(rule, metadata.namespace))
      ?.action;
  }

  /** "All the match criteria within a rule must be satisfied for a packet to match." */
  function matches(rule: Any, namespace: string | undefined): boolean {
    const isV6 = (flow.source.address ?? flow.destination.address ?? '').includes(':');
    const { protocol } = flow;
    const named = (given: Any): string => ({ 1: 'ICMP', 17: 'UDP' })[given as number] ?? given;
    if (rule.ipVersion !== undefined && rule.ipVersion !== (isV6 ? 6 : 4)) return false;
    if (rule.protocol !== undefined && named(rule.protocol) !== protocol) return false;
    if (rule.notProtocol !== undefined && named(rule.notProtocol) === protocol) return false;
    return (
      entity(rule.source ?? {}, flow.source, namespace, isV6) &&
      entity(rule.destination ?? {}, flow.destination, namespace, isV6) &&
      ports(rule.destination ?? {}, namespace)
    );
  }

  function entity(given: Any, end: End, namespace: string | undefined, isV6: boolean): boolean {
    const isIn = (net: string): boolean => inside(net.includes('/') ? net : `${net}/32`, end.address);
    if (given.nets !== undefined && !given.nets.some(isIn)) return false;
    if (given.notNets !== undefined) {
      // Networks of the other family are ignored. A rule that has only such networks matches nothing.
      const left = given.notNets.filter((net: string) => net.includes(':') === isV6);
      if (left.length === 0 || left.some(isIn)) return false;
    }
    const endpoints = endpointsOf(end);
    if (asksFor(given, namespace)) return endpoints.some((each) => positive(given, each, namespace));
    // "NotSelector matches packets that are not from Calico-controlled endpoints that do have the label".
    return given.notSelector === undefined || !endpoints.some(({ labels }) => selected(given.notSelector, labels));
  }

  function positive(
    given: Any,
    { labels, namespaceLabels, accountLabels, in: where, account }: Endpoint,
    namespace: string | undefined,
  ): boolean {
    if (given.namespaceSelector === undefined && namespace !== undefined && where !== namespace) return false;
    if (given.namespaceSelector !== undefined && !inNamespaces(given.namespaceSelector, where, namespaceLabels))
      return false;
    const names = given.serviceAccounts?.names;
    if (names !== undefined && !names.includes(account)) return false;
    if (given.notSelector !== undefined && selected(given.notSelector, labels)) return false;
    return selected(given.serviceAccounts?.selector, accountLabels) && selected(given.selector, labels);
  }

  function ports({ ports: given, notPorts, ...entityRule }: Any, namespace: string | undefined): boolean {
    const isOne = (port: Any): boolean => {
      const [first, last = first] = String(port).split(':');
      if (Number.isNaN(Number(first))) return isNamed(String(port), entityRule, namespace);
      return flow.port !== undefined && flow.port >= Number(first) && flow.port <= Number(last);
    };
    return (given === undefined || given.some(isOne)) && (notPorts === undefined || !notPorts.some(isOne));
  }

  /** The Pod must have a port of this name, and the rule must select the Pod. */
  function isNamed(name: string, given: Any, namespace: string | undefined): boolean {
    const { destination } = flow;
    if (destination.kind !== 'pod' || destination.pod.hostNetwork) return false;
    return (
      (destination.pod.ports ?? []).some(
        (each) => each.name === name && each.protocol === flow.protocol && each.port === flow.port,
      ) &&
      (!asksFor(given, namespace) || positive(given, podLabels(destination), namespace))
    );
  }

  interface Endpoint {
    labels: Labels;
    namespaceLabels: Labels;
    accountLabels: Labels;
    in: string | undefined;
    account: string | undefined;
  }

  /** "endpoints" that have the address: a Pod, and sets of networks. */
  function endpointsOf(end: End): Endpoint[] {
    const sets = [...of('projectcalico.org', 'NetworkSet'), ...of('projectcalico.org', 'GlobalNetworkSet')]
      .filter(({ spec }) => spec.nets.some((net: string) => inside(net.includes('/') ? net : `${net}/32`, end.address)))
      .map(({ metadata }): Endpoint => {
        const { namespace, labels = {} } = metadata;
        const inherited = namespace === undefined ? {} : labelsOfNamespace(namespace);
        return { labels, namespaceLabels: inherited, accountLabels: {}, in: namespace, account: undefined };
      });
    return end.kind === 'pod' && !end.pod.hostNetwork ? [podLabels(end), ...sets] : sets;
  }

  function podLabels({ pod }: End & { kind: 'pod' }): Endpoint {
    const account = of('v1', 'ServiceAccount').find(
      ({ metadata }) => metadata.name === pod.serviceAccount && metadata.namespace === pod.namespace,
    );
    return {
      labels: { ...pod.labels },
      namespaceLabels: labelsOfNamespace(pod.namespace),
      accountLabels: { ...account.metadata.labels, 'projectcalico.org/name': account.metadata.name },
      in: pod.namespace,
      account: pod.serviceAccount,
    };
  }

  function labelsOfNamespace(name: string): Labels {
    const found = cluster.namespaces.find((each) => each.name === name);
    return { ...found?.labels, 'kubernetes.io/metadata.name': name, 'projectcalico.org/name': name };
  }
}

/** "[ PolicyTypeIngress ], if there are no Egress rules"; "[ PolicyTypeEgress ], if there are Egress rules but no Ingress rules" */
function defaultTypes({ ingress = [], egress = [] }: Any): string[] {
  if (egress.length === 0) return ['Ingress'];
  return ingress.length === 0 ? ['Egress'] : ['Ingress', 'Egress'];
}

/** The selector's terms are joined by `&&`, as arbitraries.ts writes them. */
function selected(selector: string | undefined, labels: Labels): boolean {
  if (selector === undefined) return true;
  return selector.split(' && ').every((term) => {
    if (term === 'all()') return true;
    const [, negated, has] = /^(!?)has\((.+)\)$/.exec(term) ?? [];
    if (has !== undefined) return has in labels !== (negated === '!');
    const [, label = '', operator, rest = ''] = /^(\S+) (==|!=|in|not in) (.+)$/.exec(term) ?? [];
    const values = [...rest.matchAll(/"([^"]*)"/g)].map(([, text]) => text);
    const isOne = label in labels && values.includes(labels[label]);
    return operator === '==' || operator === 'in' ? isOne : !isOne;
  });
}

/** Whether the rule says anything about an end. notSelector alone confines a namespaced rule to its Namespace. */
function asksFor(
  { selector, namespaceSelector, serviceAccounts, notSelector }: Any,
  namespace: string | undefined,
): boolean {
  const asks = [selector, namespaceSelector, serviceAccounts?.names, serviceAccounts?.selector];
  return asks.some((each) => each !== undefined) || (namespace !== undefined && notSelector !== undefined);
}

/** `all()`: objects in any Namespace; `global()`: objects without a Namespace. */
function inNamespaces(selector: string, where: string | undefined, namespaceLabels: Labels): boolean {
  return selector.split(' && ').every((term) => {
    if (term === 'all()') return where !== undefined;
    return term === 'global()' ? where === undefined : selected(term, namespaceLabels);
  });
}
