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
    ['is away', fakeApi(() => refused(0, 'connect ECONNREFUSED')), 'problem', /does not answer: connect ECONNREFUSED/],
    ['does not know us', fakeApi(() => refused(401)), 'problem', /does not accept the token/],
    ['is ill', fakeApi(() => refused(503, 'etcd is away')), 'warning', /answers 503: etcd is away/],
    [
      'is another program',
      fakeApi(() => answered(null)),
      'problem',
      /^what answers at .* is no API server: it tells no/,
    ],
    [
      'is a page of a proxy',
      fakeApi(() => refused(0, 'Unexpected token < is not valid JSON')),
      'problem',
      /is no API server: Unexpected token/,
    ],
    ['is nowhere', noApi('no API server is known'), 'problem', /^no API server is known$/],
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
    [300, 'ok', "within 0.3 s of the API server's"],
    [-4900, 'ok', "within 4.9 s of the API server's"],
    [5100, 'warning', "5.1 s ahead of the API server's"],
    [-61_000, 'warning', "61 s behind the API server's"],
    [undefined, 'unknown', 'the API server did not tell the time'],
  ] as const)('a clock off by %d ms', async (skew, status, finding) => {
    const [, check] = await checkApiServer({ ...fakeApi(() => version), clockSkew: skew }, now);
    expect(check).toMatchObject({ name: 'clock', status, finding });
  });
});

describe('Node', () => {
  const nodes = ['node-a', 'node-b'].map((name) => ({ metadata: { name, uid: name } }));
  const api = fakeApi(({ query }) => {
    const wanted = query['fieldSelector'];
    return answered({ items: nodes.filter(({ metadata: { name } }) => !wanted || wanted === `metadata.name=${name}`) });
  });

  test('is there', async () => {
    await expect(checked(api, 'node-b')).resolves.toMatchObject({ status: 'ok', finding: 'node-b is there' });
  });

  test.each([null, 1, {}, { metadata: null }])('what cannot be understood is no Node: %j', async (item) => {
    const strange = fakeApi(() => answered({ items: [item] }));
    await expect(checked(strange, 'node-b')).resolves.toMatchObject({
      status: 'problem',
      finding: 'there is no Node node-b',
    });
  });

  test('is not there: others are named', async () => {
    await expect(checked(api, 'node')).resolves.toMatchObject({
      status: 'problem',
      finding: 'there is no Node node; there are node-a, node-b',
    });
  });

  test.each([
    ['node-b', 'not known: the API server does not allow it'],
    ['', 'no Node is named'],
  ])('unknown for the answer "%s"', async (name, finding) => {
    await expect(
      checked(
        fakeApi(() => refused(403)),
        name,
      ),
    ).resolves.toMatchObject({ status: 'unknown', finding });
  });
});

function checked(api: Pick<Api, 'request'>, name: string): Promise<Check> {
  return checkNode(api, name, () => findNode(api, name));
}

describe('Calico', () => {
  const prefixes = createPrefixTable();

  /** What is found when `default` has this spec, and the object of the node that. */
  async function found(spec: object, own?: object, kubeProxyHere: boolean | undefined = true): Promise<string[]> {
    const api = fakeApi(({ path }) => {
      if (path === '/apis/crd.projectcalico.org/v1/felixconfigurations/default') return answered({ spec });
      return path.endsWith('/node.node-a') && own !== undefined ? answered({ spec: own }) : undefined;
    });
    const checks = checkCalico({ ...(await lookAtFelix(api, 'node-a', now)), kubeProxyHere, prefixes });
    return checks.map(({ name, status, finding }) => `${name} ${status}: ${finding}`);
  }

  test('all is well', async () => {
    await expect(found({ logPrefix: 'calico-drop %k %p' })).resolves.toEqual([
      'calico-bpf ok: eBPF is off',
      'calico-log-level ok: felix logs its warnings (logSeverityScreen Info)',
      'calico-log-prefix ok: logPrefix is calico-drop %k %p: means dropped',
    ]);
  });

  test('nothing is', async () => {
    await expect(found({ bpfEnabled: true, logSeverityScreen: 'Error' })).resolves.toEqual([
      'calico-bpf problem: bpfEnabled in FelixConfiguration default lets Calico delete the chains of kube-proxy, which runs on this node',
      'calico-log-level warning: FelixConfiguration has logSeverityScreen Error: what felix warns of its rules is not in its log.',
      'calico-log-prefix warning: logPrefix is calico-packet, the default: policy rules with action Log do not tell what becomes of the packet, and make no Events',
    ]);
  });

  test('what is set for the node goes before', async () => {
    const [bpf, , prefix] = await found({ logPrefix: 'x' }, { bpfEnabled: true, logPrefix: 'calico-drop' });
    expect(bpf).toContain('problem: bpfEnabled in FelixConfiguration node.node-a');
    expect(prefix).toContain('ok: logPrefix is calico-drop');
  });

  test.each([
    [
      { bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false },
      true,
      "ok: eBPF is on; kube-proxy's chains are left",
    ],
    [{ bpfEnabled: true }, false, 'ok: eBPF is on, and kube-proxy has no Pod here'],
  ])('eBPF without a conflict: %j', async (spec, kubeProxyHere, expected) => {
    const [bpf] = await found(spec, undefined, kubeProxyHere);
    expect(bpf).toContain(expected);
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
