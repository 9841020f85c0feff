/** Lists the rights that the agent needs, and asks which of them it has. No function here rejects. */
import type { Config } from '../../agent/config/config.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  isAllowed,
  namespacedPolicyKinds,
  networkSetKinds,
  type PolicyKind,
  reviewRight,
  servedKinds,
} from '../../agent/kubernetes/kubernetes.ts';
import { isCalico } from '../../explain/policies/policies.ts';
import { type ApiRequests, refusalText } from './api.ts';

export interface Right {
  group: string;
  /** The resource, such as `pods`, or `nodes/status` with a subresource. */
  resource: string;
  verbs: readonly string[];
  /** The loss without the right, in words for a person. */
  without: string;
  /** Whether the agent, or the setting that needs the right, is useless without it. */
  required: boolean;
}

const watched = ['list', 'watch'];

/** The rights that every agent needs. A test checks that deploy/base/rbac.yaml grants exactly these. */
export const rights: readonly Right[] = [
  right('', 'pods', watched, 'no drop can be attributed to a Pod', true),
  right('', 'nodes', watched, 'Events show addresses instead of Nodes, and the Node gets no Events', true),
  right('', 'services', watched, 'Events show addresses and chains instead of Services', true),
  right('', 'events', ['create', 'patch', 'get'], 'no Events can be written', true),
  right('discovery.k8s.io', 'endpointslices', watched, 'incidents do not name the Pods behind a Service', false),
  ...['crd.projectcalico.org', 'projectcalico.org'].map((group) =>
    right(group, 'felixconfigurations', ['get'], "incidents do not know of Calico's configuration", false),
  ),
];

/** The setting `auditOptOut` also needs this right, which deploy/components/audit-opt-out grants. */
export const optOutRight = right('', 'namespaces', watched, 'the audit names no Pod', true);

/** The setting `nodeCondition` also needs this right, which deploy/components/node-condition grants. */
export const conditionRight = right('', 'nodes/status', ['patch'], 'the Node does not get its condition', false);

function right(group: string, resource: string, verbs: readonly string[], without: string, required: boolean): Right {
  return { group, resource, verbs, without, required };
}

export interface Review {
  right: Right;
  verb: string;
  /** Whether the right is granted, or a text that says why this is not known. */
  allowed: boolean | string;
}

export async function reviewRights(
  api: ApiRequests,
  { audit, auditOptOut, nodeCondition }: Pick<Config, 'audit' | 'auditOptOut' | 'nodeCondition'>,
): Promise<Review[]> {
  const needed = [
    ...rights,
    ...(audit.length > 0 && auditOptOut ? [optOutRight] : []),
    ...(nodeCondition ? [conditionRight] : []),
  ];
  const asked = needed.flatMap((each) => each.verbs.map((verb) => ({ right: each, verb })));
  return await Promise.all(
    asked.map(async ({ right: each, verb }) => {
      const answer = await reviewRight(api, verb, each.resource, each.group);
      const allowed =
        answer.kind === 'refused' ? refusalText(answer) : (answer.allowed ?? 'the answer is not that of an API server');
      return { right: each, verb, allowed };
    }),
  );
}

export interface PolicyRights {
  /** Undefined if the API server does not say whether NetworkPolicies may be listed. */
  granted: boolean | undefined;
  /** The kinds in the cluster (`NetworkPolicy.networking.k8s.io`); undefined if the API server does not say. */
  kinds: readonly string[] | undefined;
  /** The kinds that the cluster has only in versions that are not evaluated (`cilium.io/v3 CiliumNetworkPolicy`). */
  unevaluated: readonly string[];
  /** The resources that may not be listed, such as `globalnetworkpolicies.crd.projectcalico.org`. */
  missing: readonly string[];
}

const policyKinds = [...clusterPolicyKinds, ...namespacedPolicyKinds];

/** Calico's policies name Services, and select by labels of ServiceAccounts. */
const namedByCalico = ['endpointslices.discovery.k8s.io', 'serviceaccounts'];

export async function reviewPolicies(api: ApiRequests): Promise<PolicyRights> {
  const granted = await isAllowed(api, 'list', 'networkpolicies', 'networking.k8s.io');
  const nothing = { granted, kinds: undefined, unevaluated: [], missing: [] };
  if (granted !== true) return nothing;
  const found = await servedKinds(api, [...policyKinds, ...calicoKinds, ...networkSetKinds]).catch(() => undefined);
  if (found === undefined) return nothing;
  const { served, unevaluated } = found;
  const asked = ['namespaces', ...served.map(listed), ...(served.some(isCalico) ? namedByCalico : [])];
  const allowed = await Promise.all(
    asked.map((name) => {
      const [resource = '', ...group] = name.split('.');
      return isAllowed(api, 'list', resource, group.join('.'));
    }),
  );
  return {
    granted,
    kinds: served
      .filter((kind) => policyKinds.includes(kind))
      .map(({ apiVersion, kind }) => `${kind}.${groupOf(apiVersion)}`),
    unevaluated: unevaluated.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
    missing: asked.filter((_, index) => allowed[index] === false),
  };
}

function listed({ apiVersion, plural }: PolicyKind): string {
  return `${plural}.${groupOf(apiVersion)}`;
}

function groupOf(apiVersion: string): string {
  return apiVersion.split('/', 1)[0] ?? '';
}
