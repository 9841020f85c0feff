/** Looks for rules of Antrea's policies whose names have control characters: a line break in a name begins a line of np.log. */
import { clusterPolicyKinds, namespacedPolicyKinds } from '../../agent/kubernetes/kubernetes.ts';
import { at, type Json, list, text } from '../../base/platform/json.ts';
import { type ApiRequests, itemsOfAnswer } from './api.ts';

/** The policies with such a rule, or why they are not known; undefined without Antrea, or if its policies may not be listed. */
export type StrangeRuleNames = readonly string[] | { readonly why: string } | undefined;

const kinds = [...namespacedPolicyKinds, ...clusterPolicyKinds].filter(({ apiVersion }) =>
  apiVersion.startsWith('crd.antrea.io/'),
);

export async function lookForStrangeRuleNames({ request }: ApiRequests): Promise<StrangeRuleNames> {
  const found: string[] = [];
  for (const { apiVersion, kind, plural } of kinds) {
    const answer = await request('GET', `/apis/${apiVersion}/${plural}`, { query: { resourceVersion: '0' } });
    if (answer.kind === 'refused' && [403, 404].includes(answer.status)) return undefined;
    const policies = itemsOfAnswer(answer);
    if (policies.kind === 'refused') return policies;
    for (const policy of policies.items.filter(hasStrangeRuleName)) found.push(`Antrea${kind} ${nameOf(policy)}`);
  }
  return found;
}

function hasStrangeRuleName(policy: Json): boolean {
  const rules = ['ingress', 'egress'].flatMap((direction) => list(at(policy, 'spec', direction)));
  return rules.some((rule) => /\p{Cc}/u.test(text(at(rule, 'name')) ?? ''));
}

function nameOf(policy: Json): string {
  const [namespace, name] = ['namespace', 'name'].map((field) => text(at(policy, 'metadata', field)));
  return [namespace, name].filter((part) => part !== undefined).join('/');
}
