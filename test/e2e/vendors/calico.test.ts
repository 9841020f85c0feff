import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { at } from '../../../src/base/platform/json.ts';
import { allCommands } from '../../docs/all-commands.ts';
import { textOf } from '../../docs/documents.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { fetchModule } from './modules.ts';

/**
 * Patches and objects for Calico, as documents, Events and `doctor` print them, at an API server that has Calico's own
 * CustomResourceDefinitions and refuses unknown fields. The Go module has them as of release 3.28.
 */

const group = 'crd.projectcalico.org';
/** Fields of later releases: docs/other-projects.md says where they were read. */
const later = ['logActionRateLimit', 'logActionRateLimitBurst', 'flowLogsLocalReporter', 'flowLogsFlushInterval'];

/** The control plane is its own: whether there is Calico is the same for all who use an API server. */
let controlPlane: ControlPlane;
beforeAll(async () => {
  const module = await fetchModule(
    'github.com/projectcalico/calico',
    '1.11.0-cni-plugin.0.20250813170300-a0db560f0520',
  );
  const definitions = loadAll(await readFile(join(module, 'manifests/crds.yaml'), 'utf8')) as object[];
  controlPlane = await startControlPlane();
  await controlPlane.apply(...definitions.filter((each) => each !== null));
  await controlPlane.succeed(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
  const felix = { apiVersion: `${group}/v1`, kind: 'FelixConfiguration', metadata: { name: 'default' }, spec: {} };
  // A new kind is established before it is served.
  await vi.waitUntil(async () => (await create('felixconfigurations', felix)).status === 201, { timeout: 60_000 });
});
afterAll(() => controlPlane?.stop());

type Answer = Awaited<ReturnType<ControlPlane['request']>>;

function create(plural: string, body: object): Promise<Answer> {
  return controlPlane.request('POST', `/apis/${group}/v1/${plural}?${strict}`, { body });
}

const strict = 'fieldValidation=Strict';

function patch(spec: object): Promise<Answer> {
  const path = `/apis/${group}/v1/felixconfigurations/default?${strict}`;
  return controlPlane.request('PATCH', path, { body: { spec }, contentType: 'application/merge-patch+json' });
}

/** The spec of each patch of a FelixConfiguration that a text or a shipped file has. */
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

test('patches are found, and none of the later fields is left over', () => {
  expect(specs.length).toBeGreaterThan(8);
  for (const field of later) expect(specs.some((spec) => field in spec)).toBe(true);
});

test.each(specs)('Calico takes the patch %j', async (spec) => {
  const known = Object.fromEntries(Object.entries(spec).filter(([field]) => !later.includes(field)));
  expect(await patch(known)).toMatchObject({ status: 200 });
});

test.each(later)('release 3.28 does not know the field %s', async (field) => {
  expect(at((await patch({ [field]: 'x' })).body, 'message')).toContain(`unknown field "spec.${field}"`);
});

test('Calico takes the shipped policies that log, but for the tier, a field of later releases', async () => {
  const policies = loadAll(textOf('deploy/logging/calico/global-network-policy-crd.yaml')) as { spec: object }[];
  expect(policies).toHaveLength(2);
  for (const policy of policies) {
    const { body } = await create('globalnetworkpolicies', policy);
    expect(at(body, 'message')).toContain('unknown field "spec.tier"');
    const spec = { ...policy.spec, tier: undefined };
    expect((await create('globalnetworkpolicies', { ...policy, spec })).status).toBe(201);
  }
});
