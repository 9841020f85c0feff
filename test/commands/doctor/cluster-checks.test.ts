import { describe, expect, test } from 'vitest';
import { type Api, noApi } from '../../../src/commands/doctor/api.ts';
import { checkApiServer } from '../../../src/commands/doctor/checks/api-server.ts';
import { checkCalico } from '../../../src/commands/doctor/checks/calico.ts';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkNode } from '../../../src/commands/doctor/checks/node.ts';
import { findNode } from '../../../src/commands/doctor/cluster-look.ts';
import { lookAtFelix } from '../../../src/commands/doctor/felix.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { nine } from '../../builders.ts';
import { answered, fakeApi, refused } from './fake.ts';

const now = (): number => nine;

describe('API server', () => {
  const version = answered({ gitVersion: 'v1.36.3' });

  test.each([
    ['answers', fakeApi(() => version), 'ok', /answers in 0 ms \(v1\.36\.3\)/],
    ['tells its version to nobody', fakeApi(() => refused(403)), 'ok', /answers in 0 ms$/],
    ['is away', fakeApi(() => refused(0, 'connect ECONNREFUSED')), 'problem', /: connect ECONNREFUSED$/],
    ['does not know us', fakeApi(() => refused(401)), 'problem', /401/],
    ['is ill', fakeApi(() => refused(503, 'etcd is away')), 'warning', /503: etcd is away$/],
    ['is another program', fakeApi(() => answered(null)), 'problem', / https:\/\/api\.example:6443 /],
    [
      'is a page of a proxy',
      fakeApi(() => refused(0, 'Unexpected token < is not valid JSON')),
      'problem',
      /: Unexpected token/,
    ],
    ['is nowhere', noApi('why'), 'problem', /^why$/],
  ] as const)('%s', async (_, api, status, finding) => {
    const [check] = await checkApiServer(api, now);
    expect(check).toMatchObject({ name: 'api-server', status, finding: expect.stringMatching(finding) as string });
  });

  test('is slow', async () => {
    let time = nine;
    const [check] = await checkApiServer(
      fakeApi(() => {
        time += 3193;
        return version;
      }),
      () => time,
    );
    expect(check).toMatchObject({ status: 'warning', finding: expect.stringContaining('3193 ms') as string });
  });

  test.each([
    [300, 'ok', /\b0\.3 s /],
    [-4900, 'ok', /\b4\.9 s /],
    [5100, 'warning', /^5\.1 s ahead /],
    [-61_000, 'warning', /^61 s behind /],
    [undefined, 'unknown', /./],
  ] as const)('a clock off by %d ms', async (skew, status, finding) => {
    const [, check] = await checkApiServer({ ...fakeApi(() => version), clockSkew: skew }, now);
    expect(check).toMatchObject({ name: 'clock', status, finding: expect.stringMatching(finding) as string });
  });
});

describe('Node', () => {
  const nodes = ['node-a', 'node-b'].map((name) => ({ metadata: { name, uid: name } }));
  const api = fakeApi(({ query }) => {
    const wanted = query['fieldSelector'];
    return answered({ items: nodes.filter(({ metadata: { name } }) => !wanted || wanted === `metadata.name=${name}`) });
  });

  test('is there', async () => {
    await expect(checked(api, 'node-b')).resolves.toMatchObject({ status: 'ok' });
  });

  test.each([null, 1, {}, { metadata: null }])('what cannot be understood is no Node: %j', async (item) => {
    const strange = fakeApi(() => answered({ items: [item] }));
    await expect(checked(strange, 'node-b')).resolves.toMatchObject({
      status: 'problem',
    });
  });

  test('is not there: others are named', async () => {
    await expect(checked(api, 'node')).resolves.toMatchObject({
      status: 'problem',
      finding: expect.stringMatching(/ node; .* node-a, node-b$/) as string,
    });
  });

  test.each(['node-b', ''])('what may not be asked for is unknown: "%s"', async (name) => {
    await expect(
      checked(
        fakeApi(() => refused(403)),
        name,
      ),
    ).resolves.toMatchObject({ status: 'unknown' });
  });
});

function checked(api: Pick<Api, 'request'>, name: string): Promise<Check> {
  return checkNode(api, name, () => findNode(api, name));
}

describe('Calico', () => {
  const prefixes = createPrefixTable();

  /** Returns what doctor finds when `default` has this spec, and the object of the node that one. */
  async function found(spec: object, own?: object, kubeProxyHere: boolean | undefined = true): Promise<string[]> {
    const api = fakeApi(({ path }) => {
      if (path === '/apis/crd.projectcalico.org/v1/felixconfigurations/default') return answered({ spec });
      return path.endsWith('/node.node-a') && own !== undefined ? answered({ spec: own }) : undefined;
    });
    const checks = checkCalico({ ...(await lookAtFelix(api, 'node-a', now)), kubeProxyHere, prefixes });
    return checks.map(({ name, status }) => `${name} ${status}`);
  }

  test('all is well', async () => {
    await expect(found({ logPrefix: 'calico-drop %k %p' })).resolves.toEqual([
      'calico-bpf ok',
      'calico-log-level ok',
      'calico-log-prefix ok',
    ]);
  });

  test('nothing is', async () => {
    await expect(found({ bpfEnabled: true, logSeverityScreen: 'Error' })).resolves.toEqual([
      'calico-bpf problem',
      'calico-log-level warning',
      'calico-log-prefix warning',
    ]);
  });

  test('what is set for the node goes before', async () => {
    const [bpf, , prefix] = await found({ logPrefix: 'x' }, { bpfEnabled: true, logPrefix: 'calico-drop' });
    expect([bpf, prefix]).toEqual(['calico-bpf problem', 'calico-log-prefix ok']);
  });

  test.each([
    [{ bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false }, true],
    [{ bpfEnabled: true }, false],
  ])('eBPF without a conflict: %j, kube-proxy has a Pod here: %j', async (spec, kubeProxyHere) => {
    const [bpf] = await found(spec, undefined, kubeProxyHere);
    expect(bpf).toBe('calico-bpf ok');
  });

  test('it is not known whether kube-proxy runs here', async () => {
    const look = await lookAtFelix(
      fakeApi(({ path }) => (path.endsWith('/default') ? answered({ spec: { bpfEnabled: true } }) : undefined)),
      'node-a',
      now,
    );
    expect(checkCalico({ ...look, kubeProxyHere: undefined, prefixes })[0]?.status).toBe('unknown');
  });

  test.each([
    ['there is none', fakeApi(() => undefined), 'ok'],
    ['it may not be read', fakeApi(({ path }) => (path.includes('felix') ? refused(403) : answered({}))), 'unknown'],
    ['nobody answers', fakeApi(() => refused(0)), 'unknown'],
  ] as const)('%s', async (_, api, status) => {
    const checks = checkCalico({ ...(await lookAtFelix(api, 'node-a', now)), kubeProxyHere: true, prefixes });
    expect(checks).toMatchObject([{ name: 'calico', status }]);
  });
});
