import { readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import type { Check } from '../../../src/cli/doctor/report.ts';
import { conditionRight, optOutRight, reviewRights, rights } from '../../../src/cli/doctor/rights.ts';
import {
  calicoKinds,
  clusterPolicyKinds,
  namespacedPolicyKinds,
  networkSetKinds,
} from '../../../src/agent/kubernetes/policy-kinds.ts';
import { policiesFile, rightsFile } from '../../../src/agent/kubernetes/rights.ts';
import { answered, fakeApi } from './fake.ts';
import { found } from './scene.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

const root = new URL('../../../', import.meta.url);

const base = { audit: [], auditOptOut: false, nodeCondition: false };

test.each([
  ['the agent', rightsFile, rights],
  ['a setting of the audit', 'deploy/components/audit-opt-out/rbac.yaml', [optOutRight]],
  ['the condition of the Node', 'deploy/components/node-condition/rbac.yaml', [conditionRight]],
])('the rights for %s equal those of the file that grants them', (_, file, expected) => {
  const asked = expected.flatMap(({ group, resource, verbs }) => verbs.map((verb) => `${verb} ${resource} ${group}`));
  expect(asked.toSorted()).toEqual(grantedBy(file).toSorted());
});

test('policies.yaml grants listing exactly the kinds that verdicts need', () => {
  const kinds = [...clusterPolicyKinds, ...namespacedPolicyKinds, ...calicoKinds, ...networkSetKinds];
  const asked = [
    // A kind may have several versions.
    ...new Set(kinds.map(({ apiVersion, plural }) => `list ${plural} ${apiVersion.split('/', 1)[0]}`)),
    'list namespaces ',
    'list endpointslices discovery.k8s.io',
    'list serviceaccounts ',
  ];
  expect(grantedBy(policiesFile).toSorted()).toEqual(asked.toSorted());
});

/** `VERB RESOURCE GROUP` of each right of the ClusterRole in a file. */
function grantedBy(file: string): string[] {
  const text = readFileSync(new URL(file, root), 'utf8');
  const role = (loadAllYaml(text) as { kind: string; rules?: Rule[] }[]).find(({ kind }) => kind === 'ClusterRole');
  return (role?.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource} ${group}`))),
  );
}

/** An API server that grants all but these. */
function lacking(...denied: string[]): ReturnType<typeof fakeApi> {
  return fakeApi(({ body }) => {
    const { spec } = body as { spec: { resourceAttributes: { resource: string; subresource?: string; verb: string } } };
    const { resource, subresource, verb } = spec.resourceAttributes;
    const name = subresource === undefined ? resource : `${resource}/${subresource}`;
    return answered({ status: { allowed: !denied.includes(`${verb} ${name}`) } });
  });
}

async function checked(
  api: ReturnType<typeof fakeApi>,
  config: Parameters<typeof reviewRights>[1] = base,
): Promise<Check | undefined> {
  return found('rights', { reviews: await reviewRights(api, config) })[0];
}

test('all rights are granted', async () => {
  const api = lacking();
  expect((await checked(api))?.status).toBe('ok');
  expect(new Set(api.asked.map(({ verb, path }) => `${verb} ${path}`))).toEqual(
    new Set(['POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews']),
  );
  expect(api.asked).toHaveLength(13);
});

test('the right to read Namespaces is checked only if the audit leaves out Namespaces with the label', async () => {
  const optOut = { audit: [{ kind: 'stdout' as const }], auditOptOut: true, nodeCondition: false };
  expect((await checked(lacking('watch namespaces'), optOut))?.status).toBe('problem');
  for (const settings of [base, { ...optOut, auditOptOut: false }, { ...optOut, audit: [] }])
    expect((await checked(lacking('watch namespaces'), settings))?.status).toBe('ok');
});

test('the right to write the status of Nodes is checked only if the Node has a condition', async () => {
  const api = lacking('patch nodes/status');
  expect((await checked(api, { ...base, nodeCondition: true }))?.status).toBe('warning');
  expect(api.asked).toHaveLength(14);
  expect((await checked(lacking('patch nodes/status')))?.status).toBe('ok');
});
