import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { at } from '../../../src/base/platform/json.ts';
import { allCommands } from '../../docs/all-commands.ts';
import { textOf } from '../../docs/documents.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { calicoGroup, type CalicoObject, createCalico, installCalico } from './calico.ts';

/**
 * Patches and objects for Calico, as documents, Events and `doctor` print them, sent to an API server that has Calico's
 * own CustomResourceDefinitions and refuses unknown fields. The Go module has the definitions of release 3.28.
 */

/** Fields of later releases; docs/other-projects.md names their sources. */
const later = ['logActionRateLimit', 'logActionRateLimitBurst', 'flowLogsLocalReporter', 'flowLogsFlushInterval'];

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await startControlPlane();
  await installCalico(controlPlane);
});
afterAll(() => controlPlane?.stop());

type Answer = Awaited<ReturnType<ControlPlane['request']>>;

function patch(spec: object): Promise<Answer> {
  const path = `/apis/${calicoGroup}/v1/felixconfigurations/default?fieldValidation=Strict`;
  return controlPlane.request('PATCH', path, { body: { spec }, contentType: 'application/merge-patch+json' });
}

/** The spec of each patch of a FelixConfiguration in a text or a shipped file. */
const specs = patches().map((text) => (load(text) as { spec: Record<string, unknown> }).spec);

function patches(): string[] {
  const texts = allCommands().map(({ text }) => text);
  const found = texts.flatMap((text) => {
    const [, literal, file] =
      /patch felixconfiguration \S+ --type=merge (?:--patch=|-p )'(.*)'|patch felixconfiguration \S+ --type=merge --patch-file (\S+)/.exec(
        text,
      ) ?? [];
    return literal ?? (file === undefined ? [] : textOf(file));
  });
  return [...new Set(found)];
}

test('all patches are found, and each listed later field is in use', () => {
  expect(specs.length).toBeGreaterThan(8);
  for (const field of later) expect(specs.some((spec) => field in spec)).toBe(true);
});

test.each(specs)('Calico accepts the patch %j', async (spec) => {
  const known = Object.fromEntries(Object.entries(spec).filter(([field]) => !later.includes(field)));
  expect(await patch(known)).toMatchObject({ status: 200 });
});

test.each(later)('release 3.28 does not know the field %s', async (field) => {
  expect(at((await patch({ [field]: 'x' })).body, 'message')).toContain(`unknown field "spec.${field}"`);
});

test('Calico accepts the shipped policies that log, except for the tier, a field of later releases', async () => {
  const policies = loadAll(textOf('deploy/logging/calico/global-network-policy-crd.yaml')) as CalicoObject[];
  expect(policies).toHaveLength(2);
  for (const policy of policies) {
    const { body } = await createCalico(controlPlane, policy);
    expect(at(body, 'message')).toContain('unknown field "spec.tier"');
    const spec = { ...policy.spec, tier: undefined };
    expect((await createCalico(controlPlane, { ...policy, spec })).status).toBe(201);
  }
});
