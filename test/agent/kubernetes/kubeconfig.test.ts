import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { contextNamespace, readKubeconfig, readUserAccess } from '../../../src/agent/kubernetes/kubeconfig.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';

const within = temporaryFolder();
afterEach(() => void vi.useRealTimers());

function write(token: string): void {
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: `https://${token}.example.org` } }],
    users: [{ name: 'u', user: { token } }],
  };
  writeFileSync(within('config'), JSON.stringify(config));
}

test('a kubeconfig is read again when the server refuses it, every five seconds at most', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  write('old');
  const access = readKubeconfig(within('config'));
  write('new');
  access.reload?.();
  expect(access.server).toBe('https://old.example.org');
  vi.advanceTimersByTime(5000);
  expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer old' } });
  access.reload?.();
  expect(access.server).toBe('https://new.example.org');
  expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer new' } });
});

test('a half-replaced kubeconfig is not used', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  write('old');
  const access = readKubeconfig(within('config'));
  writeFileSync(within('config'), '{');
  vi.advanceTimersByTime(5000);
  access.reload?.();
  expect(access.server).toBe('https://old.example.org');
});

test('--context chooses the server and the user; an unknown context is refused', async () => {
  const names = ['current', 'other'];
  const config = {
    'current-context': 'current',
    contexts: names.map((name) => ({ name, context: { cluster: `${name}-cluster`, user: `${name}-user` } })),
    clusters: names.map((name) => ({ name: `${name}-cluster`, cluster: { server: `https://${name}.example.org` } })),
    users: names.map((name) => ({ name: `${name}-user`, user: { token: name } })),
  };
  writeFileSync(within('config'), JSON.stringify(config));
  const kubeconfig = within('config');
  expect(readUserAccess({ kubeconfig }).server).toBe('https://current.example.org');
  const other = readUserAccess({ kubeconfig, context: 'other' });
  expect(other.server).toBe('https://other.example.org');
  expect(await other.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer other' } });
  expect(() => readUserAccess({ kubeconfig, context: 'missing' })).toThrow('--context missing');
});

test.each<[string, { server?: string }, object, object, RegExp]>([
  ['a server that is not a URL', { server: 'nonsense' }, {}, {}, /config: server nonsense of cluster k: must be a URL/],
  [
    'a certificate that is missing',
    {},
    { 'certificate-authority': '/nowhere/ca' },
    {},
    /^\/nowhere\/ca: .*no such file$/,
  ],
  ['a key that is missing', {}, {}, { 'client-key': '/nowhere/key' }, /^\/nowhere\/key: .*no such file$/],
])('%s in the kubeconfig is refused at once', (_, { server = 'https://x' }, cluster, user, message) => {
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user: { token: 'x', ...user } }],
  };
  writeFileSync(within('config'), JSON.stringify(config));
  expect(() => readUserAccess({ kubeconfig: within('config') })).toThrow(message);
});

test('--certificate-authority names the option, if its file is missing', () => {
  write('old');
  const flags = { kubeconfig: within('config'), certificateAuthority: '/nowhere/ca' };
  expect(() => readUserAccess(flags)).toThrow('--certificate-authority /nowhere/ca: cannot be used: no such file');
});

test('--server without TLS, as of kubectl proxy, is asked without a certificate', async () => {
  write('old');
  const access = readUserAccess({ kubeconfig: within('config'), server: 'http://127.0.0.1:8001' });
  expect(access.server).toBe('http://127.0.0.1:8001');
  expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer old' } });
});

test.each(['readKubeconfig', 'readUserAccess'] as const)(
  'a server without TLS in the kubeconfig is asked: %s',
  async (by) => {
    write('old');
    writeFileSync(within('config'), readFileSync(within('config'), 'utf8').replace('https:', 'http:'));
    const access =
      by === 'readKubeconfig' ? readKubeconfig(within('config')) : readUserAccess({ kubeconfig: within('config') });
    expect(access.server).toBe('http://old.example.org');
    expect(await access.authenticate()).toMatchObject({ headers: { Authorization: 'Bearer old' } });
  },
);

const named = (name: string, current?: string, server = name) => {
  const config = {
    ...(current !== undefined && { 'current-context': current }),
    contexts: [{ name, context: { cluster: name, user: name, namespace: server } }],
    clusters: [{ name, cluster: { server: `https://${server}.example.org` } }],
    users: [{ name, user: { token: server } }],
  };
  writeFileSync(within(server), JSON.stringify(config));
};
const use = (...files: string[]) => vi.stubEnv('KUBECONFIG', files.map((file) => within(file)).join(delimiter));

describe('with several files in KUBECONFIG', () => {
  afterEach(() => void vi.unstubAllEnvs());

  test.each<[string, () => void, string]>([
    ['a missing one is left out', () => (named('one', 'one'), use('missing', 'one')), 'one'],
    ['the first current context counts', () => (named('one', 'one'), named('two', 'two'), use('one', 'two')), 'one'],
    [
      'one without a current context leaves it to the next',
      () => (named('one'), named('two', 'two'), use('one', 'two')),
      'two',
    ],
    [
      'of two values with one name, the first counts',
      () => (named('one', 'one'), named('one', 'one', 'later'), use('one', 'later')),
      'one',
    ],
  ])('%s', async (_, prepare, expected) => {
    prepare();
    const access = readUserAccess({});
    expect([access.server, access.namespace]).toEqual([`https://${expected}.example.org`, expected]);
    expect(await access.authenticate()).toMatchObject({ headers: { Authorization: `Bearer ${expected}` } });
  });

  test('the first file is named if no file exists', () => {
    use('missing', 'gone');
    expect(() => readUserAccess({})).toThrow(`${within('missing')}: cannot be used: no such file`);
  });
});

test('--insecure-skip-tls-verify and --certificate-authority override the kubeconfig', async () => {
  write('old');
  const kubeconfig = within('config');
  writeFileSync(within('ca.crt'), 'certificates');
  const [plain, insecure, ca] = await Promise.all(
    [{}, { insecureSkipTlsVerify: true }, { certificateAuthority: within('ca.crt') }].map((flags) =>
      readUserAccess({ kubeconfig, ...flags }).authenticate(),
    ),
  );
  expect([plain?.rejectUnauthorized, insecure?.rejectUnauthorized]).toEqual([undefined, false]);
  expect(String(ca?.ca)).toBe('certificates');
});

test.each<[string, object, string]>([
  ['of the current context', {}, 'shop'],
  ['of another context', { context: 'b' }, 'batch'],
  ['of a context without one', { context: 'c' }, 'default'],
  ['that is no name', { context: 'd' }, 'default'],
  ['of a context that is not there', { context: 'none' }, 'default'],
  ['of a kubeconfig that is not there', { kubeconfig: '/nowhere' }, 'default'],
])('the namespace %s', (_, flags, expected) => {
  const contexts = Object.entries({ a: 'shop', b: 'batch', c: undefined, d: '../x' });
  const config = {
    'current-context': 'a',
    contexts: contexts.map(([name, namespace]) => ({ name, context: { cluster: 'k', user: 'u', namespace } })),
  };
  writeFileSync(within('config'), JSON.stringify(config));
  expect(contextNamespace({ kubeconfig: within('config'), ...flags })).toBe(expected);
});
