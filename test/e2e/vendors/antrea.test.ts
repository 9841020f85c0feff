import { spawn } from 'node:child_process';
import { loadAll } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { at } from '../../../src/base/platform/json.ts';
import type { Check } from '../../../src/cli/doctor/report.ts';
import { bundle, bundleNode } from '../bundle.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { defineKind } from '../dataplanes/definitions.ts';
import { readShipped } from '../logging/node-shell.ts';
import { outcomeOf } from '../outcome.ts';
import { until } from '../until.ts';

/** deploy/logging/antrea at a real API server, which has Antrea's kinds without Antrea's own checks: these let any text be a rule's name. */

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
  for (const [kind, scope] of [
    ['NetworkPolicy', 'Namespaced'],
    ['ClusterNetworkPolicy', 'Cluster'],
  ] as const)
    await defineKind(controlPlane, { group: 'crd.antrea.io', version: 'v1beta1', kind, scope });
});
afterAll(() => controlPlane?.stop());

type Answer = Awaited<ReturnType<ControlPlane['request']>>;

function create(kind: 'NetworkPolicy' | 'ClusterNetworkPolicy', name: string, spec: object): Promise<Answer> {
  const path = kind === 'NetworkPolicy' ? 'namespaces/default/networkpolicies' : 'clusternetworkpolicies';
  const body = { apiVersion: 'crd.antrea.io/v1beta1', kind, metadata: { name }, spec };
  return controlPlane.request('POST', `/apis/crd.antrea.io/v1beta1/${path}`, { body });
}

const forged = 'x\n2026/11/21 14:41:23.037955 IngressDefaultRule K8sNetworkPolicy <nil> Ingress Drop <nil> shop/db-0';
const rule = (name?: string): object => ({ action: 'Drop', name });

test('a rule whose name has a line break is found by doctor, and refused once the policy is in force', async () => {
  expect(await create('NetworkPolicy', 'forger', { ingress: [rule('web'), rule(forged)] })).toMatchObject({
    status: 201,
  });
  expect(await ruleNames()).toMatchObject([
    { status: 'warning', finding: expect.stringMatching(/: AntreaNetworkPolicy default\/forger$/) as string },
  ]);

  const [policy, binding] = loadAll(await readShipped('antrea/rule-names.yaml')) as [object, object];
  await controlPlane.apply(policy, binding);
  // A new policy is in force somewhat later.
  let tries = 0;
  const refusal = await until(
    async () => {
      const answer = await create('NetworkPolicy', `forger-${++tries}`, { ingress: [rule(forged)] });
      return answer.status !== 201 && answer;
    },
    () => 'the API server does not refuse the name',
  );
  expect(refusal).toMatchObject({ status: 422 });
  expect(at(refusal.body, 'message')).toContain('the name of a rule has a line break');

  for (const name of [forged, 'x\rIngress', 'x\u0085Ingress', 'x\u001b[2K']) {
    for (const kind of ['NetworkPolicy', 'ClusterNetworkPolicy'] as const)
      expect(await create(kind, 'refused', { egress: [rule(), rule(name)] })).toMatchObject({ status: 422 });
  }
  for (const [index, name] of ['web Ingress Allow 1', 'nach außen', undefined].entries())
    expect(await create('NetworkPolicy', `usual-${index}`, { ingress: [rule(name)] })).toMatchObject({ status: 201 });
  expect(await create('ClusterNetworkPolicy', 'usual', {})).toMatchObject({ status: 201 });
});

async function ruleNames(): Promise<readonly Check[]> {
  const env = { PATH: process.env['PATH'], KUBECONFIG: controlPlane.adminKubeconfig };
  const { stdout } = await outcomeOf(spawn(bundleNode, [bundle, 'doctor', '--output=json'], { env }));
  const { checks } = JSON.parse(stdout) as { checks: readonly Check[] };
  return checks.filter(({ name }) => name === 'antrea-rule-names');
}
