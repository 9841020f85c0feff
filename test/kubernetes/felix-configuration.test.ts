import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type Answer, type Connection, createConnection, type RequestReport } from '../../src/kubernetes/connection.ts';
import { createFelixReader, type FelixReader } from '../../src/kubernetes/incident-facts.ts';
import type { FelixSettings } from '../../src/model/incident.ts';
import { felixSettings, nine } from '../builders.ts';
import { json, refuse, startScriptedServer } from './scripted-server.ts';

const v1 = '/apis/crd.projectcalico.org/v1/felixconfigurations/';
const v3 = '/apis/projectcalico.org/v3/felixconfigurations/';
const own = 'node.node-a';

/** By path: the spec of an object, or the status of a refusal; 404 where none is given. */
type Script = Record<string, object | number>;

function reader(script: Script): { felix: FelixReader; asked: string[]; pass: (seconds: number) => void } {
  const asked: string[] = [];
  let time = nine;
  const connection: Pick<Connection, 'request'> = {
    request(verb, path): Promise<Answer> {
      asked.push(`${verb} ${path}`);
      const given = script[path] ?? 404;
      return Promise.resolve(
        typeof given === 'object'
          ? { kind: 'answered', body: { spec: given } }
          : { kind: 'refused', status: given, reason: '', message: '', retryAfter: undefined },
      );
    },
  };
  return {
    felix: createFelixReader(connection, 'node-a', () => time),
    asked,
    pass: (seconds) => (time += seconds * 1000),
  };
}

const settings = (some: Partial<FelixSettings>): object => ({ kind: 'settings', settings: felixSettings(some) });

test.each<[string, Script, object]>([
  ['default only', { [`${v1}default`]: { bpfEnabled: true } }, settings({ bpfEnabled: true, bpfFrom: 'default' })],
  ['one for the node only', { [v1 + own]: { bpfEnabled: true } }, settings({ bpfEnabled: true, bpfFrom: own })],
  ['none that says anything', { [`${v1}default`]: {} }, settings({})],
  [
    'the node over the default, field by field',
    {
      [`${v1}default`]: { bpfEnabled: true, logSeverityScreen: 'Error', iptablesBackend: 'NFT', nftablesMode: 'Auto' },
      [v1 + own]: { bpfEnabled: false, bpfKubeProxyIptablesCleanupEnabled: false, iptablesBackend: 'Legacy' },
    },
    settings({
      bpfEnabled: false,
      bpfFrom: own,
      bpfKubeProxyIptablesCleanupEnabled: false,
      cleanupFrom: own,
      logSeverityScreen: 'Error',
      iptablesBackend: 'Legacy',
      nftablesMode: 'Auto',
    }),
  ],
  [
    'what is of no type that is known is not set, and hides nothing',
    {
      [`${v1}default`]: { bpfEnabled: true, logSeverityScreen: 3, iptablesBackend: 'Legacy' },
      [v1 + own]: { bpfEnabled: 'false', iptablesBackend: 'x'.repeat(33), nftablesMode: ['Enabled'] },
    },
    settings({ bpfEnabled: true, bpfFrom: 'default', iptablesBackend: 'Legacy' }),
  ],
  [
    "Calico's own API server",
    { [`${v3}default`]: { bpfEnabled: true } },
    settings({ bpfEnabled: true, bpfFrom: 'default' }),
  ],
  [
    'both groups: the one that is stored',
    { [`${v1}default`]: { bpfEnabled: true }, [`${v3}default`]: {} },
    settings({ bpfEnabled: true, bpfFrom: 'default' }),
  ],
  ['no Calico', {}, { kind: 'absent' }],
  [
    'no Calico, and no right',
    { [`${v1}default`]: 403, [v1 + own]: 403, [`${v3}default`]: 403, [v3 + own]: 403 },
    { kind: 'absent' },
  ],
  [
    'no right',
    { [`${v1}default`]: 403, [v1 + own]: 403, '/apis/crd.projectcalico.org': {} },
    { kind: 'unreadable', reason: 'forbidden' },
  ],
  [
    'no right, not even to see whether there is Calico',
    { [`${v1}default`]: 403, [v1 + own]: 403, '/apis/crd.projectcalico.org': 403 },
    { kind: 'unreadable', reason: 'forbidden' },
  ],
  [
    'no right to the one for the node',
    { [`${v1}default`]: { bpfEnabled: true }, [v1 + own]: 403, '/apis/crd.projectcalico.org': {} },
    { kind: 'unreadable', reason: 'forbidden' },
  ],
  [
    'a right to one group only',
    {
      [`${v1}default`]: 403,
      [v1 + own]: 403,
      '/apis/crd.projectcalico.org': {},
      [`${v3}default`]: { bpfEnabled: true },
    },
    settings({ bpfEnabled: true, bpfFrom: 'default' }),
  ],
  ['an API server in problem', { [`${v1}default`]: 500 }, { kind: 'unreadable', reason: 'failed' }],
  ['no answer', { [`${v1}default`]: 0, [v1 + own]: 0 }, { kind: 'unreadable', reason: 'failed' }],
  ["Calico's API server is down", { [`${v3}default`]: 503, [v3 + own]: 503 }, { kind: 'unreadable', reason: 'failed' }],
])('a FelixConfiguration is read: %s', async (_, script, expected) => {
  expect(await reader(script).felix.read()).toEqual(expected);
});

test('a group that does not answer is not followed by the other', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: 0, [v1 + own]: 0 });
  await felix.read();
  expect(asked).toEqual([`GET ${v1}default`, `GET ${v1}${own}`]);
});

test.each<[string, Script, number]>([
  ['settings', { [`${v1}default`]: {} }, 2],
  ['absent', {}, 4],
  ['unreadable', { [`${v1}default`]: 403, [v1 + own]: 403, [`${v3}default`]: 403, [v3 + own]: 403 }, 6],
])('a FelixConfiguration is read: %s', async (_, script, requests) => {
  const { felix, asked, pass } = reader(script);
  const first = await felix.read();
  pass(59);
  expect(await felix.read()).toEqual(first);
  expect(asked).toHaveLength(requests);
  pass(1);
  await felix.read();
  expect(asked).toHaveLength(2 * requests);
});

test('a server that did not answer is asked again', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: 500 });
  await felix.read();
  await felix.read();
  expect(asked).toHaveLength(4);
});

test('what changes is seen', async () => {
  const script: Script = { [`${v1}default`]: { bpfEnabled: true } };
  const { felix, pass } = reader(script);
  await felix.read();
  script[`${v1}default`] = { bpfEnabled: false };
  pass(60);
  expect(await felix.read()).toEqual(settings({ bpfEnabled: false, bpfFrom: 'default' }));
});

test('calls at the same time share the requests', async () => {
  const { felix, asked } = reader({ [`${v1}default`]: {} });
  await Promise.all([felix.read(), felix.read(), felix.read()]);
  expect(asked).toHaveLength(2);
});

test('the name of a node stays one part of the path', async () => {
  const asked: string[] = [];
  const request: Connection['request'] = (_, path) => {
    asked.push(path);
    return Promise.resolve({ kind: 'answered', body: {} });
  };
  await createFelixReader({ request }, 'a/../b?c', () => nine).read();
  expect(asked).toContain(`${v1}node.a%2F..%2Fb%3Fc`);
});

test('whatever the objects hold, it is read without an error', async () => {
  await fc.assert(
    fc.asyncProperty(fc.anything(), fc.jsonValue(), async (body, spec) => {
      const bodies = [body, { spec }];
      const request: Connection['request'] = () => Promise.resolve({ kind: 'answered', body: bodies.pop() });
      const felix = await createFelixReader({ request }, 'node-a', () => nine).read();
      expect(felix.kind).toBe('settings');
    }),
  );
});

test('it is read over a real connection', async () => {
  const server = await startScriptedServer(({ path, response }) => {
    if (path === `${v1}default`) return json(response, 200, { spec: { bpfEnabled: true } });
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
