/** Compiles policies of all kinds that are evaluated, and recognizes those that are not. */
import type { Json } from '../../base/platform/json.ts';
import { compileCalicoPolicy } from './api/calico-policy.ts';
import { compileCiliumPolicy } from './api/cilium-policy.ts';
import { compileClusterPolicy } from './api/cluster-policy.ts';
import { compileNetworkPolicy } from './api/network-policy.ts';
import {
  adminNetworkPolicyFields,
  calicoPolicyFields,
  ciliumPolicyFields,
  clusterNetworkPolicyFields,
  type FieldProblem,
  fieldProblems,
  type FieldShapes,
  networkPolicyFields,
} from './api/fields.ts';
import { refOf, unknownPolicy } from './api/read.ts';
import type { Policy } from './policy.ts';
import { anyTier } from './model.ts';

interface Kind {
  readonly compile: (object: Json) => Policy | readonly Policy[];
  readonly fields: FieldShapes;
}

const admin: Kind = { compile: compileClusterPolicy, fields: adminNetworkPolicyFields };
const cluster: Kind = { compile: compileClusterPolicy, fields: clusterNetworkPolicyFields };
const cilium: Kind = { compile: compileCiliumPolicy, fields: ciliumPolicyFields };
const calico: Kind = { compile: compileCalicoPolicy, fields: calicoPolicyFields };

const calicoKinds: readonly (readonly [string, Kind])[] = [
  ['NetworkPolicy', calico],
  ['GlobalNetworkPolicy', calico],
  ['StagedNetworkPolicy', calico],
  ['StagedGlobalNetworkPolicy', calico],
  ['StagedKubernetesNetworkPolicy', { ...calico, fields: networkPolicyFields }],
];

const kinds: ReadonlyMap<string, Kind> = new Map([
  ['networking.k8s.io/v1/NetworkPolicy', { compile: compileNetworkPolicy, fields: networkPolicyFields }],
  ['policy.networking.k8s.io/v1beta1/ClusterNetworkPolicy', cluster],
  ['policy.networking.k8s.io/v1alpha2/ClusterNetworkPolicy', cluster],
  ['policy.networking.k8s.io/v1alpha1/AdminNetworkPolicy', admin],
  ['policy.networking.k8s.io/v1alpha1/BaselineAdminNetworkPolicy', admin],
  ['cilium.io/v2/CiliumNetworkPolicy', cilium],
  ['cilium.io/v2/CiliumClusterwideNetworkPolicy', cilium],
  ...['projectcalico.org/v3', 'crd.projectcalico.org/v1'].flatMap((version) =>
    calicoKinds.map(([kind, row]) => [`${version}/${kind}`, row] as const),
  ),
]);

/** Kinds of such a name that have no compiler make the verdict unknown. */
const policyKinds = /^(?:Global|Cilium|CiliumClusterwide|Cluster|Admin|BaselineAdmin)?(?:Network)?Policy$/;

/** In other groups, a Policy is something else. */
const policyGroups: ReadonlySet<string> = new Set([
  'networking.k8s.io',
  'policy.networking.k8s.io',
  'projectcalico.org',
  'crd.projectcalico.org',
  'cilium.io',
  'crd.antrea.io',
]);

/** Returns parts evaluated separately; none if it is not a policy for Pods. Never throws: an invalid one makes the verdict unknown. */
export function compilePolicy(object: Json): Policy[] {
  const { apiVersion, kind } = refOf(object);
  const evaluated = kinds.get(`${apiVersion}/${kind}`);
  if (evaluated !== undefined) return [evaluated.compile(object)].flat();
  const [group = ''] = apiVersion.split('/', 1);
  if (!policyGroups.has(group) || !policyKinds.test(kind)) return [];
  return [unknownPolicy(object, anyTier, `${apiVersion} is not evaluated`)];
}

export function policyProblems(object: Json): FieldProblem[] {
  const { apiVersion, kind } = refOf(object);
  const evaluated = kinds.get(`${apiVersion}/${kind}`);
  return evaluated === undefined ? [] : fieldProblems(object, evaluated.fields);
}
