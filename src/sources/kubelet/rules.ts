import type { PodName } from '../../log-formats/container-path.ts';

/** Says which containers' logs are read. In every list, `*` matches any text, even an empty one. */
export interface ContainerRule {
  readonly namespaces: readonly string[];
  readonly pods: readonly string[];
  readonly containers: readonly string[];
}

const namespaces = ['kube-system', 'calico-system'];

export const defaultRules: readonly ContainerRule[] = [
  { namespaces, pods: ['kube-proxy*'], containers: ['kube-proxy'] },
  { namespaces, pods: ['calico-node*'], containers: ['calico-node'] },
  {
    namespaces: ['kube-system'],
    pods: ['kube-network-policies*', 'kindnet*'],
    containers: ['kube-network-policies', 'kindnet-cni'],
  },
];

export type ContainerMatcher = ReturnType<typeof createContainerMatcher>;

export function createContainerMatcher(rules: readonly ContainerRule[]) {
  const isMeant = (rule: ContainerRule, { namespace, pod }: PodName): boolean =>
    matchesAny(rule.namespaces, namespace) && matchesAny(rule.pods, pod);

  return {
    pod: (pod: PodName): boolean => rules.some((rule) => isMeant(rule, pod)),
    container: (pod: PodName, container: string): boolean =>
      rules.some((rule) => matchesAny(rule.containers, container) && isMeant(rule, pod)),
  };
}

const form = 'must be NAMESPACES/PODS/CONTAINERS, for example kube-system,calico-system/kube-proxy*/kube-proxy';

/** Reads `NAMESPACES/PODS/CONTAINERS`, each a list with commas. Throws a RangeError that describes the problem. */
export function parseContainerRule(text: string): ContainerRule {
  const parts = text.split('/');
  if (parts.length !== 3) throw new RangeError(form);
  const [pods, containers] = [parts[1] ?? '', parts[2] ?? ''];
  return {
    namespaces: namesIn(parts[0] ?? '', 'namespace'),
    pods: namesIn(pods, 'Pod'),
    containers: namesIn(containers, 'container'),
  };
}

function namesIn(list: string, what: string): string[] {
  const names = list.split(',').map((name) => name.trim());
  for (const name of names) {
    if (name === '') throw new RangeError(`names no ${what} where one should be (* for any); it ${form}`);
    if (!/^[a-z0-9.*-]{1,253}$/.test(name))
      throw new RangeError(
        `${JSON.stringify(name)} is no name of a ${what}: those have lower-case letters, digits, - and .; * stands for any text`,
      );
  }
  return names;
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name));
}

/** Matches each piece between the stars at its first position, so that every pattern takes linear time. */
function matches(pattern: string, name: string): boolean {
  const [start = '', ...pieces] = pattern.split('*');
  const end = pieces.pop();
  if (end === undefined) return pattern === name;
  if (!name.startsWith(start)) return false;
  let at = start.length;
  for (const piece of pieces) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - at >= end.length && name.endsWith(end);
}
