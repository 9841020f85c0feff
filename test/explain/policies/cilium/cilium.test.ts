import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compilePolicy, policyProblems, suggest } from '../../../../src/explain/policies/policies.ts';
import { evaluator, networkPolicy } from '../objects.ts';
import { check, connection, namespaces, postgres, rowsOf, worker } from '../rows.ts';
import { cnp, fromLabels, inBatch, isolating, rowsOfEntities } from './cases.ts';
import { asked, randomCases } from './random.ts';

test.each([...rowsOf(join(import.meta.dirname, 'semantics.txt')), ...rowsOfEntities])('%s', (_, row) => check(row));

test('Cilium decides like every verdict that is not unknown', () => {
  const verdicts = readFileSync(join(import.meta.dirname, 'verdicts.txt'), 'utf8').replaceAll('\n', '');
  const wrong: object[] = [];
  let unknown = 0;
  for (const [index, given] of randomCases(asked.seed, asked.count).entries()) {
    const { outcome } = evaluator(given.policies, namespaces).verdict(given.flow, given.direction);
    if (outcome === 'unknown') unknown++;
    else if (outcome !== (verdicts[index] === 'a' ? 'admits' : 'denies')) wrong.push({ ...given, index, outcome });
  }
  expect(wrong).toEqual([]);
  expect(verdicts).toHaveLength(asked.count);
  expect(unknown / asked.count).toBeLessThan(0.03);
});

test('a NetworkPolicy does not open a connection that only Cilium isolates', () => {
  const options = { flow: connection, namespaces, pods: [postgres, worker] };
  expect(suggest({ ...options, policies: [isolating].flatMap(compilePolicy) })).toMatchObject({
    kind: 'refused',
    reason: 'foreign',
  });
  const deny = cnp({ endpointSelector: {}, ingressDeny: [fromLabels(inBatch)] }, 'deny');
  expect(suggest({ ...options, policies: [deny].flatMap(compilePolicy) })).toMatchObject({ reason: 'admin' });
});

test('a field with a typo is found, at any depth', () => {
  const typos = cnp({
    endpointSelector: {},
    ingress: [{ fromEndpoint: [{}], toPorts: [{ port: [] }] }],
    egressDeny: [{ toPorts: [{ rules: {} }] }],
  });
  expect(policyProblems(typos).map(({ path }) => path.join('.'))).toEqual([
    'spec.ingress.0.fromEndpoint',
    'spec.ingress.0.toPorts.0.port',
    'spec.egressDeny.0.toPorts.0.rules',
  ]);
});

const withSpecs = (...specs: object[]): object => ({ ...cnp({}), spec: undefined, specs });

test('in a list of specs, only wrong fields are problems', () => {
  expect(policyProblems(withSpecs({ endpointSelector: {}, ingress: [{}] }))).toEqual([]);
  expect(policyProblems(withSpecs({}, { ingres: [] })).map(({ path }) => path.join('.'))).toEqual(['specs.1.ingres']);
  expect(policyProblems({ ...networkPolicy({}), specs: [{}] })).toMatchObject([{ path: ['specs'] }]);
});

test('a policy whose rules are asked for at two times is one policy', () => {
  const both = cnp({ endpointSelector: {}, ingress: [{}], ingressDeny: [fromLabels(inBatch)] });
  const { trace } = evaluator([both, isolating], namespaces);
  expect(trace(connection, 'ingress')).toMatchObject({ selectingCount: 2, policies: { length: 3 } });
});
