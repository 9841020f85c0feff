/** Names of Pods and their owners, spelled as in kubectl: TYPE/NAME. */
import { isLabel, isSubdomain } from '../../base/platform/api-names.ts';

export interface PodType {
  readonly api: '/api/v1' | '/apis/apps/v1' | '/apis/batch/v1';
  readonly plural: string;
  /** The names of the type besides the kind itself, in lower case. */
  readonly short: readonly string[];
}

/** A Pod, and the kinds that find their Pods by labels. */
export const podTypes = {
  Pod: { api: '/api/v1', plural: 'pods', short: ['po'] },
  Deployment: { api: '/apis/apps/v1', plural: 'deployments', short: ['deploy'] },
  StatefulSet: { api: '/apis/apps/v1', plural: 'statefulsets', short: ['sts'] },
  DaemonSet: { api: '/apis/apps/v1', plural: 'daemonsets', short: ['ds'] },
  ReplicaSet: { api: '/apis/apps/v1', plural: 'replicasets', short: ['rs'] },
  Job: { api: '/apis/batch/v1', plural: 'jobs', short: [] },
  Service: { api: '/api/v1', plural: 'services', short: ['svc'] },
} as const satisfies Record<string, PodType>;

export type PodKind = keyof typeof podTypes;

const kinds = Object.keys(podTypes) as PodKind[];
const or = new Intl.ListFormat('en', { type: 'disjunction' });

/** `deployment, statefulset, … or service`. */
export const workloadWords = or.format(kinds.filter((kind) => kind !== 'Pod').map((kind) => kind.toLowerCase()));

/** The kind of `deploy`, `Deployment` or `deployments`. */
export function podKindOf(type: string): PodKind | undefined {
  const word = type.toLowerCase();
  return kinds.find((kind) => {
    const { plural, short }: PodType = podTypes[kind];
    return kind.toLowerCase() === word || plural === word || short.includes(word);
  });
}

export interface TargetName {
  readonly kind: PodKind;
  /** Undefined if the text names none. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Reads NAME, NAMESPACE/NAME, TYPE/NAME and TYPE/NAMESPACE/NAME. */
export function targetNameOf(text: string): TargetName | undefined {
  const parts = text.split('/');
  const type = parts.length > 1 ? podKindOf(parts[0] ?? '') : undefined;
  const [name = '', namespace, ...more] = (type === undefined ? parts : parts.slice(1)).toReversed();
  const isName = (type === 'Service' ? isLabel : isSubdomain)(name);
  const isRight = isName && (namespace === undefined || isLabel(namespace)) && more.length === 0;
  return isRight ? { kind: type ?? 'Pod', namespace, name } : undefined;
}

/** `web-0`, `shop/web-0`, `deployment/shop/web`. */
export function nameText({ kind, namespace, name }: TargetName): string {
  return [kind === 'Pod' ? undefined : kind.toLowerCase(), namespace, name]
    .filter((part) => part !== undefined)
    .join('/');
}
