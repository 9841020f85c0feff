/** Which objects are policies, and what compiles them. */
import type { Json } from '../platform/json.ts';
import {
  compileCalicoGlobalNetworkPolicy,
  compileCalicoNetworkPolicy,
  compileStagedGlobalNetworkPolicy,
  compileStagedKubernetesNetworkPolicy,
  compileStagedNetworkPolicy,
} from './api/calico-policy.ts';
import {
  compileAdminNetworkPolicy,
  compileBaselineAdminNetworkPolicy,
  compileClusterNetworkPolicy,
} from './api/cluster-policy.ts';
import { compileNetworkPolicy } from './api/network-policy.ts';
import { refOf, unknownPolicy } from './api/read.ts';
import type { Policy } from './policy.ts';
import { anyTier } from './tiers.ts';

type Compile = (object: Json) => Policy;

const calicoKinds: readonly (readonly [string, Compile])[] = [
  ['NetworkPolicy', compileCalicoNetworkPolicy],
  ['GlobalNetworkPolicy', compileCalicoGlobalNetworkPolicy],
  ['StagedNetworkPolicy', compileStagedNetworkPolicy],
  ['StagedGlobalNetworkPolicy', compileStagedGlobalNetworkPolicy],
  ['StagedKubernetesNetworkPolicy', compileStagedKubernetesNetworkPolicy],
];

/** `apiVersion/kind` of what is evaluated. */
const compilers: ReadonlyMap<string, Compile> = new Map([
  ['networking.k8s.io/v1/NetworkPolicy', compileNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha2/ClusterNetworkPolicy', compileClusterNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha1/AdminNetworkPolicy', compileAdminNetworkPolicy],
  ['policy.networking.k8s.io/v1alpha1/BaselineAdminNetworkPolicy', compileBaselineAdminNetworkPolicy],
  ...['projectcalico.org/v3', 'crd.projectcalico.org/v1'].flatMap((version) =>
    calicoKinds.map(([kind, compile]) => [`${version}/${kind}`, compile] as const),
  ),
]);

/**
 * Kinds that admit or deny what a Pod sends or gets. Those that no compiler takes may decide anything, and are reported so. Kinds that are
 * not listed are no policies.
 */
const policyKinds =
  /^(?:Staged)?(?:Global|Kubernetes|Cilium|CiliumClusterwide|Cluster|Admin|BaselineAdmin)?(?:Network)?Policy$/;

/** Groups of the APIs that have policies of networks; in others, a Policy is something else. */
const policyGroups: ReadonlySet<string> = new Set([
  'networking.k8s.io',
  'policy.networking.k8s.io',
  'projectcalico.org',
  'crd.projectcalico.org',
  'cilium.io',
  'crd.antrea.io',
]);

/** Undefined for what is no policy. Never throws: what is broken, or of an unknown version, decides nothing and makes the verdict unknown. */
export function compilePolicy(object: Json): Policy | undefined {
  const { apiVersion, kind } = refOf(object);
  const compile = compilers.get(`${apiVersion}/${kind}`);
  if (compile !== undefined) return compile(object);
  const [group = ''] = apiVersion.split('/', 1);
  if (!policyGroups.has(group) || !policyKinds.test(kind) || kind.startsWith('Staged')) return undefined;
  return unknownPolicy(object, anyTier, `${apiVersion} is not evaluated`);
}
