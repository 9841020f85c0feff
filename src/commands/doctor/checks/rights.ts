import { grantRightTo } from '../../../kubernetes/rights.ts';
import { type Api, refusalText, seeApiServer } from '../api.ts';
import { answersOf, type Check } from '../check.ts';
import type { Config } from '../../../config/config.ts';
import { conditionRight, optOutRight, resourceName, type Right, rights } from '../rights.ts';

interface Review {
  right: Right;
  verb: string;
  /** Undefined where the API server does not answer. */
  allowed: boolean | undefined;
  why: string;
}

/** Asks the API server for each right whether it is granted (SelfSubjectAccessReview, which everybody may create). */
export async function checkRights(
  api: Pick<Api, 'request'>,
  { audit, auditOptOut, nodeCondition }: Pick<Config, 'audit' | 'auditOptOut' | 'nodeCondition'>,
): Promise<Check> {
  const { ok, problem, unknown, warning } = answersOf('rights');
  const asked = [
    ...rights,
    ...(audit.length > 0 && auditOptOut ? [optOutRight] : []),
    ...(nodeCondition ? [conditionRight] : []),
  ];
  const reviews = await Promise.all(asked.flatMap((right) => right.verbs.map((verb) => review(api, right, verb))));
  const missing = reviews.filter(({ allowed }) => allowed === false);
  if (missing.length > 0) return (missing.some(({ right }) => right.required) ? problem : warning)(...lacking(missing));
  const unpublished = reviews.find(({ allowed }) => allowed === undefined);
  if (unpublished !== undefined) return unknown(`not known: ${unpublished.why}`, seeApiServer);
  return ok(`all ${reviews.length} are granted`);
}

async function review({ request }: Pick<Api, 'request'>, right: Right, verb: string): Promise<Review> {
  const { group } = right;
  const [resource, subresource] = right.resource.split('/');
  const answer = await request('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
    body: {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      // Without a namespace: in all of them.
      spec: { resourceAttributes: { group, resource, subresource, verb } },
    },
  });
  if (answer.kind === 'refused') return { right, verb, allowed: undefined, why: refusalText(answer) };
  const allowed = (answer.body as { status?: { allowed?: unknown } | null } | null)?.status?.allowed;
  if (typeof allowed !== 'boolean')
    return { right, verb, allowed: undefined, why: 'what answers does not tell, as an API server would' };
  return { right, verb, allowed, why: '' };
}

function lacking(missing: readonly Review[]): [finding: string, advice: string] {
  const grants = new Set(missing.map(({ right }) => grantRightTo(right.resource)));
  const lost = new Set(missing.map(({ right }) => right.without));
  return [
    `missing: ${missing.map(({ right, verb }) => `${verb} ${resourceName(right)}`).join(', ')}`,
    `${[...grants].join(', and ')}; without it ${[...lost].join('; ')}`,
  ];
}
