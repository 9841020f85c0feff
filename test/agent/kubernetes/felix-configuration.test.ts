import { join } from 'node:path';
import fc from 'fast-check';
import { load } from 'js-yaml';
import { expect, onTestFinished, test } from 'vitest';
import { type Connection, createConnection, type RequestReport } from '../../../src/agent/kubernetes/connection.ts';
import { createFelixReader, type FelixReader } from '../../../src/agent/kubernetes/incident-facts.ts';
import type { FelixSettings } from '../../../src/base/model/incident.ts';
import { felixSettings, nine } from '../../builders.ts';
import { rowsIn } from '../../corpus/lines.ts';
import { fakeApi } from './pod-finders/fake-api.ts';
import { json, refuse, startScriptedServer } from './scripted-server.ts';
import { forAllAsync } from '../../for-all.ts';

const v1 = '/apis/crd.projectcalico.org/v1/felixconfigurations/';
const v3 = '/apis/projectcalico.org/v3/felixconfigurations/';
const own = 'node.node-a';

/** By path: the spec of an object, or the status of a refusal. Any other path gives 404. */
type Script = Record<string, object | number>;

function reader(script: Script) {
  const objects = Object.entries(script).map(([path, given]) => [
    path,
    typeof given === 'object' ? { spec: given } : given,
  ]);
  const api = fakeApi(Object.fromEntries(objects) as Record<string, unknown>);
  let time = nine;
  const felix: FelixReader = createFelixReader(api, 'node-a', () => time);
  return {
    felix,
    objects: api.objects,
    asked: api.asked,
    pass: (seconds: number) => (time += seconds * 1000),
  };
}

const settings = (some: Partial<FelixSettings>): object => ({ kind: 'settings', settings: felixSettings(some) });

/** Rows of felix-configuration.txt: a title, the object at each path, and the result. */
const rows = rowsIn(join(import.meta.dirname, 'felix-configuration.txt')).map(({ id, text }) => {
  const [script = {}, expected = {}] = text.split('\n-> ').map((part) => load(part) as Script);
  const paths = Object.entries(script).map(([path, given]) => {
    return [path.replace('stored ', v1).replace('served ', v3), given] as const;
  });
  return [id, Object.fromEntries(paths), expected] as const;
});

test.each(rows)('a FelixConfiguration is read: %s', async (_, script, expected) => {
  const known = 'settings' in expected ? settings(expected['settings'] as Partial<FelixSettings>) : expected;
  expect(await reader(script).felix.read()).toEqual(known);
});

test('if one API group does not answer, the other is not asked', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: 0, [v1 + own]: 0 });
  await felix.read();
  expect(asked()).toEqual([`${v1}default`, v1 + own]);
});

test.each<[string, Script, number]>([
  ['settings', { [`${v1}default`]: {} }, 2],
  ['absent', {}, 4],
  ['unreadable', { [`${v1}default`]: 403, [v1 + own]: 403, [`${v3}default`]: 403, [v3 + own]: 403 }, 6],
])('an answer is kept for a minute: %s', async (_, script, requests) => {
  const { felix, asked, pass } = reader(script);
  const first = await felix.read();
  pass(59);
  expect(await felix.read()).toEqual(first);
  expect(asked()).toHaveLength(requests);
  pass(1);
  await felix.read();
  expect(asked()).toHaveLength(requests);
});

test('a server that did not answer is asked again', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: 500 });
  await felix.read();
  await felix.read();
  expect(asked()).toHaveLength(4);
});

test('a change takes effect after a minute', async () => {
  const { felix, objects, pass } = reader({ [`${v1}default`]: { bpfEnabled: true } });
  await felix.read();
  objects[`${v1}default`] = { spec: { bpfEnabled: false } };
  pass(60);
  expect(await felix.read()).toEqual(settings({ bpfEnabled: false, bpfFrom: 'default' }));
});

test('calls at the same time share the requests', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: {} });
  await Promise.all([felix.read(), felix.read(), felix.read()]);
  expect(asked()).toHaveLength(2);
});

test("a node's name stays one segment of the path", async () => {
  const asked: string[] = [];
  const request: Connection['request'] = (_, path) => {
    asked.push(path);
    return Promise.resolve({ kind: 'answered', body: {} });
  };
  await createFelixReader({ request }, 'a/../b?c', () => nine).read();
  expect(asked).toContain(`${v1}node.a%2F..%2Fb%3Fc`);
});

test('FelixConfiguration is read without an error, whatever its content', async () => {
  await forAllAsync([fc.anything(), fc.jsonValue()], {}, async (body, spec) => {
    const bodies = [body, { spec }];
    const request: Connection['request'] = () => Promise.resolve({ kind: 'answered', body: bodies.pop() });
    const felix = await createFelixReader({ request }, 'node-a', () => nine).read();
    expect(felix.kind).toBe('settings');
  });
});

const felixConfiguration = {
  apiVersion: 'projectcalico.org/v3',
  kind: 'FelixConfiguration',
  metadata: { name: 'default' },
  spec: { bpfEnabled: true },
};

test('it is read over a real connection', async () => {
  const server = await startScriptedServer(({ path, response }) => {
    if (path === `${v1}default`) return json(response, 200, felixConfiguration);
    refuse(response, 404, 'NotFound');
  });
  onTestFinished(() => server.stop());
  const reports: RequestReport[] = [];
  const connection = createConnection({
    access: server.access(),
    userAgent: 'test',
    onRequest: (report) => reports.push(report),
    clock: { now: () => nine, wall: () => nine },
  });
  const felix = await createFelixReader(connection, 'node-a', () => nine).read();
  expect(felix).toEqual(settings({ bpfEnabled: true, bpfFrom: 'default' }));
  expect(server.asked.map(({ path }) => path).toSorted()).toEqual([`${v1}default`, v1 + own]);
  expect(reports.map(({ resource, code }) => `${resource} ${code}`).toSorted()).toEqual([
    'felixconfigurations 200',
    'felixconfigurations 404',
  ]);
});
