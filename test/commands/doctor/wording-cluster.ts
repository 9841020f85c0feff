import { type Api, noApi } from '../../../src/commands/doctor/api.ts';
import type { Check } from '../../../src/commands/doctor/check.ts';
import { checkAgent } from '../../../src/commands/doctor/checks/agent.ts';
import { checkApiServer } from '../../../src/commands/doctor/checks/api-server.ts';
import { checkCalico } from '../../../src/commands/doctor/checks/calico.ts';
import { checkNode } from '../../../src/commands/doctor/checks/node.ts';
import { checkPodLookups } from '../../../src/commands/doctor/checks/pod-lookups.ts';
import { checkPolicies } from '../../../src/commands/doctor/checks/policies.ts';
import { checkRights } from '../../../src/commands/doctor/checks/rights.ts';
import { checkSettings } from '../../../src/commands/doctor/checks/settings.ts';
import { findNode } from '../../../src/commands/doctor/cluster-look.ts';
import { lookAtFelix } from '../../../src/commands/doctor/felix.ts';
import { conditionRight, optOutRight, rights } from '../../../src/commands/doctor/rights.ts';
import type { Answer } from '../../../src/kubernetes/connection.ts';
import type { Config } from '../../../src/config/config.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { createMetrics, type Metrics } from '../../../src/telemetry/metrics.ts';
import { nine } from '../../builders.ts';
import { readConfig } from '../../config/reading.ts';
import { answered, fakeApi, refused } from './fake.ts';

const now = (): number => nine;
type FakeApi = ReturnType<typeof fakeApi>;

/** Returns all sentences of the checks of the API server, the cluster and the agent, in every situation that changes one of them. */
export async function sayingsOfCluster(): Promise<Check[]> {
  return [
    ...settings(),
    ...(await apiServer()),
    ...(await granted()),
    ...(await nodes()),
    ...(await calico()),
    ...(await lookups()),
    ...(await policies()),
    ...(await agent()),
  ];
}

function settings(): Check[] {
  const config = readConfig({}, { NODE_NAME: 'node-a', SOURCES: 'auto,file:/a' });
  return [
    checkSettings(config, [], []),
    checkSettings(config, ['a: is wrong', 'b', 'c', 'd', 'e', 'f'], []),
    checkSettings(config, [], ['a: is old']),
  ];
}

async function apiServer(): Promise<Check[]> {
  const version = answered({ gitVersion: 'v1.36.3' });
  let time = nine;
  const slow = fakeApi(() => {
    time += 3193;
    return version;
  });
  const found = [
    await checkApiServer(slow, () => time),
    ...(await Promise.all(
      [
        fakeApi(() => version),
        fakeApi(() => refused(403)),
        fakeApi(() => refused(0, 'connect ECONNREFUSED')),
        fakeApi(() => refused(401)),
        fakeApi(() => refused(503, 'etcd is away')),
        fakeApi(() => answered(null)),
        fakeApi(() => refused(0, 'Unexpected token < is not valid JSON')),
        noApi('no API server is known'),
        ...[5100, -61_000].map((skew) => fakeApi(() => version, skew)),
      ].map((api) => checkApiServer(api, now)),
    )),
  ];
  return found.flat();
}

const lacking = (isMissing: (resource: string, group: string) => boolean): FakeApi =>
  fakeApi(({ body }) => reviewed(body, isMissing));

function reviewed(body: unknown, isMissing: (resource: string, group: string) => boolean): Answer {
  const { spec } = body as { spec: { resourceAttributes: { group: string; resource: string; subresource?: string } } };
  const { group, resource, subresource } = spec.resourceAttributes;
  const name = subresource === undefined ? resource : `${resource}/${subresource}`;
  return answered({ status: { allowed: !isMissing(name, group) } });
}

async function granted(): Promise<Check[]> {
  const everything = { audit: [{ kind: 'stdout' as const }], auditOptOut: true, nodeCondition: true };
  const asked = [...rights, optOutRight, conditionRight];
  return await Promise.all([
    checkRights(
      lacking(() => false),
      { audit: [], auditOptOut: false, nodeCondition: false },
    ),
    ...asked.map((right) =>
      checkRights(
        lacking((resource, group) => resource === right.resource && group === right.group),
        everything,
      ),
    ),
    checkRights(
      lacking((resource) => resource === 'events' || resource === 'namespaces'),
      everything,
    ),
    checkRights(
      fakeApi(() => answered(null)),
      everything,
    ),
    ...[0, 403, 500].map((status) =>
      checkRights(
        fakeApi(() => refused(status, '(its message)')),
        everything,
      ),
    ),
  ]);
}

const checkedNode = (api: FakeApi, name: string): Promise<Check> => checkNode(api, name, () => findNode(api, name));

const clusterOf = (...names: string[]): FakeApi =>
  fakeApi(({ query }) => {
    const items = names.map((name) => ({ metadata: { name, uid: name } }));
    const wanted = query['fieldSelector'];
    return answered({
      items: items.filter(({ metadata: { name } }) => !wanted || wanted === `metadata.name=${name}`),
    });
  });

async function nodes(): Promise<Check[]> {
  return await Promise.all([
    checkedNode(clusterOf('node-a', 'node-b'), 'node-b'),
    checkedNode(clusterOf('node-a', 'node-b'), 'node'),
    checkedNode(clusterOf('node-a'), 'node'),
    checkedNode(clusterOf(), 'node'),
    checkedNode(clusterOf(), ''),
    checkedNode(
      fakeApi(() => refused(403)),
      'node-b',
    ),
  ]);
}

const felix = (spec: object): FakeApi =>
  fakeApi(({ path }) =>
    path.endsWith('/crd.projectcalico.org/v1/felixconfigurations/default') ? answered({ spec }) : undefined,
  );

async function calico(): Promise<Check[]> {
  const prefixes = createPrefixTable();
  const check = async (api: FakeApi, kubeProxyHere: boolean | undefined = true): Promise<Check[]> =>
    checkCalico({ ...(await lookAtFelix(api, 'node-a', now)), kubeProxyHere, prefixes });
  const unsure = await lookAtFelix(felix({ bpfEnabled: true }), 'node-a', now);
  const found = await Promise.all([
    check(fakeApi(() => undefined)),
    check(fakeApi(({ path }) => (path.includes('felix') ? refused(403) : answered({})))),
    check(fakeApi(() => refused(0))),
    check(felix({ logPrefix: 'calico-drop %k %p' })),
    check(felix({ bpfEnabled: true, logSeverityScreen: 'Error' })),
    check(felix({ bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false, logPrefix: 'x' })),
    check(felix({ bpfEnabled: true }), false),
  ]);
  return [...found.flat(), ...checkCalico({ ...unsure, kubeProxyHere: undefined, prefixes })];
}

function served(
  isMissing: (resource: string, group: string) => boolean,
  versions = answered({ resources: [] }),
): FakeApi {
  return fakeApi((request) => {
    if (request.verb === 'POST') return reviewed(request.body, isMissing);
    if (request.path === '/apis/networking.k8s.io/v1') return answered({ resources: [{ name: 'networkpolicies' }] });
    return request.path.startsWith('/apis/crd.projectcalico.org')
      ? answered({ resources: [{ name: 'globalnetworkpolicies' }] })
      : versions;
  });
}

async function policies(): Promise<Check[]> {
  return await Promise.all([
    checkPolicies(
      served(() => false),
      { policies: 'off' },
    ),
    checkPolicies(
      served(() => false),
      { policies: 'auto' },
    ),
    checkPolicies(
      served((_, group) => group === 'networking.k8s.io'),
      { policies: 'auto' },
    ),
    checkPolicies(
      served(
        (resource, group) => /^(?:namespaces|serviceaccounts)$/.test(resource) || group === 'crd.projectcalico.org',
      ),
      { policies: 'auto' },
    ),
    checkPolicies(
      served(() => false, refused(503)),
      { policies: 'auto' },
    ),
    checkPolicies(
      fakeApi(() => refused(0)),
      { policies: 'auto' },
    ),
  ]);
}

async function lookups(): Promise<Check[]> {
  const config = readConfig({}, { NODE_NAME: 'node-a', SOURCES: 'auto' });
  const check = (given: Partial<Config>, api: Api = fakeApi(() => answered({ items: [] }))): Promise<Check> =>
    checkPodLookups({
      api,
      config: { ...config, ...given },
      ownNode: () => Promise.resolve({ kind: 'answered', found: undefined }),
      pods: () => Promise.resolve([]),
    });
  return await Promise.all([
    check({ podCache: 'cluster' }),
    check({ podLookups: [] }),
    check({ podLookups: ['pod-cidr'] }),
    check({ podLookups: ['pod-cidr', 'field-selector'] }),
    check({}, noApi('no API server is known')),
  ]);
}

async function agent(): Promise<Check[]> {
  const answer = { status: 200, body: 'ok\n' };
  async function found(set: (metrics: Metrics) => void, ready = answer): Promise<Check> {
    const metrics = createMetrics({ version: '0.1.0' });
    metrics.lines.add(1234, { source: '/var/log/kern.log' });
    metrics.packets.add(1, { verdict: 'dropped' });
    metrics.eventWrites.add(2, { verb: 'create', result: 'ok' });
    metrics.lastDrop.set((nine - 3000) / 1000);
    metrics.configInForce.set(1);
    set(metrics);
    const body = await metrics.text();
    const check = await checkAgent(
      ':9090',
      (_, path) => Promise.resolve(path === '/readyz' ? ready : { status: 200, body }),
      false,
      now,
    );
    return { ...check, finding: check.finding.replace(/since \S+ \S+ UTC/, 'since TIME') };
  }
  return await Promise.all([
    found(() => {}),
    found(() => {}, { status: 503, body: 'not listed yet: pods\nx\n' }),
    found((metrics) => metrics.missingPermission.set(1, { verb: 'patch', resource: 'events' })),
    found((metrics) => metrics.sourceState.set(1, { source: 'journal', state: 'failed' })),
    found((metrics) => metrics.stateErrors.add(3, { operation: 'save' })),
    found((metrics) => metrics.lostBytes.add(70, { source: 'a' })),
    found((metrics) => metrics.lostRecords.add(7, { source: 'a' })),
    found((metrics) => metrics.configInForce.set(0)),
    checkAgent(':9090', () => Promise.resolve({ error: '(its reason)' }), false, now),
    checkAgent(':9090', () => Promise.resolve({ error: '(its reason)' }), true, now),
    checkAgent(':9090', () => Promise.resolve({ status: 200, body: 'up 1\n' }), false, now),
    checkAgent(':0', () => Promise.resolve({ error: '' }), false, now),
  ]);
}
