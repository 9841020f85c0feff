import { type ApiRequests, lookAtFelix } from '../../../src/cli/doctor/api.ts';
import { lookForStrangeRuleNames } from '../../../src/cli/doctor/antrea-rules.ts';
import { lookAtCiliumEvents } from '../../../src/cli/doctor/cilium-events.ts';
import type { Facts } from '../../../src/cli/doctor/facts.ts';
import { tryGuard } from '../../../src/cli/doctor/guard.ts';
import type { ContainerLogs } from '../../../src/cli/doctor/machine.ts';
import type { KernelLog } from '../../../src/cli/doctor/kernel-log.ts';
import type { Check } from '../../../src/cli/doctor/report.ts';
import { conditionRight, optOutRight, reviewPolicies, reviewRights, rights } from '../../../src/cli/doctor/rights.ts';
import type { LogRule } from '../../../src/cli/doctor/rules.ts';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import { createMetrics, type Metrics } from '../../../src/agent/telemetry/metrics.ts';
import { nine, pod } from '../../builders.ts';
import { answered, fakeApi, refused } from './fake.ts';
import { configOf, found, logOf, logRule, packet, rulesOf, sourceWith, versionOf } from './scene.ts';

const proxy = pod({ namespace: 'kube-system', name: 'kube-proxy-x7k2p', hostNetwork: true });

/** Returns all sentences of all checks, in every situation that changes one of them. */
export async function allSentences(): Promise<Check[]> {
  return [
    ...kernelSources(),
    ...containers(),
    ...programs(),
    ...flows(),
    ...states(),
    ...logRules(),
    ...prefixes(),
    ...switches(),
    ...settings(),
    ...apiServer(),
    ...(await granted()),
    ...(await guards()),
    ...nodes(),
    ...(await calico()),
    ...(await ciliumEvents()),
    ...(await ruleNames()),
    ...feeds(),
    ...lookups(),
    ...(await policies()),
    ...(await agent()),
    ...(await memory()),
  ];
}

function kernelSources(): Check[] {
  const nowhere = "the kernel's log is nowhere to be read";
  const none = 'no journal can be read: there is no journalctl in this image';
  return [
    sourceWith(logOf()),
    sourceWith(logOf({ lines: 1, from: undefined, last: undefined, packets: [packet('', 2000, 'dropped')] })),
    sourceWith({ reason: 'no such file' }),
    sourceWith(logOf({ lines: 0 })),
    sourceWith(logOf({ last: nine + 7_200_000 })),
    sourceWith(logOf(), { name: 'kernel', text: '/dev/kmsg' }),
    sourceWith(undefined, { name: 'auto', text: nowhere, isCertain: false }),
    sourceWith(logOf(), { name: 'auto', text: nowhere, isCertain: false }),
    sourceWith(undefined, { name: 'journal:/j', text: none }),
    [
      ...sourceWith(logOf(), { gives: true }),
      ...sourceWith(logOf(), { name: 'kernel', text: '/dev/kmsg', gives: false }),
    ],
  ].flatMap((each) => found('sources', { kernelSources: each }));
}

function containers(): Check[] {
  const written = { path: '/pods/x', namespace: 'kube-system', pod: 'kube-proxy-x7k2p', container: 'kube-proxy' };
  const logs = (state: object): ContainerLogs => ({ kind: 'logs', logs: [{ ...written, state } as never] });
  const none: ContainerLogs = { kind: 'logs', logs: [] };
  const rows: Pick<Facts, 'containers' | 'pods'>[] = [
    { containers: { kind: 'missing' }, pods: [] },
    { containers: { kind: 'error', reason: '/pods: permission denied' }, pods: [] },
    { containers: logs({ reason: 'permission denied' }), pods: [] },
    { containers: none, pods: [proxy] },
    { containers: none, pods: [] },
    { containers: none, pods: undefined },
    { containers: logs({ written: nine - 5000 }), pods: [proxy] },
  ];
  return rows.flatMap((row) => found('source containers', row));
}

function programs(): Check[] {
  const looks: Facts['programLogs'][number]['look'][] = [
    { kind: 'written', at: nine - 5000 },
    { kind: 'missing', reason: '(its reason)' },
    { kind: 'unreadable', reason: '(its reason)' },
  ];
  const programLogs = looks.map((look) => ({ program: 'k3s' as const, path: '/a', look }));
  return found('sources of programs', { programLogs });
}

function flows(): Check[] {
  const paths = [
    '/run/cilium/hubble/events.log',
    '/var/log/acns/hubble/events.log',
    '/var/log/network/policy_action.log',
  ];
  const missing = paths.flatMap((path) => sourceWith({ reason: 'no such file' }, { name: `file:${path}`, text: path }));
  return [...found('sources', { kernelSources: missing }), ...found('source of flows', { unreadFlows: paths })];
}

function states(): Check[] {
  const kept = {
    kind: 'kept',
    saved: nine - 90_000,
    node: 'node-a',
    lastDrop: nine - 3000,
    lastEvent: undefined,
  } as const;
  const rows: Partial<Facts>[] = [
    {},
    { state: kept },
    { state: { ...kept, node: 'b' } },
    { state: { kind: 'unusable', reason: '(its reason)' } },
    { state: { kind: 'unreadable', reason: '(its reason)' } },
    { folder: { kind: 'missing', free: 1e9 } },
    { folder: { kind: 'writable', free: 2e6 } },
    { folder: { kind: 'refused', reason: '(its reason)' } },
  ];
  return rows.flatMap((row) => found('state', row));
}

const lately = (age: number): Partial<Facts> => ({ kernelSources: sourceWith(logOf({ packets: [packet('a', age)] })) });

const backend = (rules: number, hasClusterChains = false) => ({ rules, hasClusterChains });

function logRules(): Check[] {
  const unseen = rulesOf({
    legacy: undefined,
    nft: undefined,
    unseen: ['iptables-legacy', 'nft'],
    failures: [{ program: 'nft', reason: 'Permission denied' }],
  });
  const ofLogger = sourceWith(logOf({ packets: [{ ...packet('', 3000), record: 'hubble' }] }));
  const logging: Partial<Facts>[] = [
    { rules: rulesOf({ logs: [logRule('a'), logRule('b', { target: 'NFLOG', group: 1 })] }) },
    {},
    lately(3000),
    { rules: unseen },
    { view: 'pod' },
    { view: 'pod', ...lately(3000) },
    { view: 'pod', ...lately(7_200_000) },
    ...(['pod', 'initial'] as const).map((view) => ({ view, kernelSources: ofLogger })),
    ...[undefined, 'Permission denied'].map((obstacle) => ({ feeds: [{ ...trace, obstacle }] })),
  ];
  const backends: Partial<Facts>[] = [
    { rules: rulesOf({ nft: backend(4) }) },
    { rules: rulesOf({ legacy: backend(1) }) },
    {},
    { rules: rulesOf({ legacy: backend(1), nft: backend(2, true) }) },
    { rules: rulesOf({ legacy: backend(1, true), nft: backend(2, true) }) },
    { rules: rulesOf({ legacy: backend(1), nft: undefined }) },
    { rules: unseen },
    { view: 'pod' },
  ];
  return [
    ...logging.flatMap((row) => found('log-rules', row)),
    ...backends.flatMap((row) => found('iptables-backends', row)),
  ];
}

const prefixesOf = (logs: readonly LogRule[], log: KernelLog | undefined, areAll = false): Check[] =>
  found('prefixes', { rules: rulesOf({ logs, unseen: areAll ? [] : ['nft'] }), kernelSources: sourceWith(log) });

const seen = (...given: string[]): KernelLog => logOf({ packets: given.map((prefix) => packet(prefix, 60_000)) });

const nflog = { target: 'NFLOG', group: 100 } as const;

function prefixes(): Check[] {
  const many = Array.from({ length: 20 }, (_, index) => logRule(`drop-${index}`));
  return [
    ...prefixesOf([logRule('my-drop: ')], seen('my-drop:', 'my-drop:')),
    ...prefixesOf([logRule('my-drop: ')], undefined),
    ...prefixesOf([logRule('calico-drop: ')], logOf()),
    ...prefixesOf([], seen('[UFW BLOCK]')),
    ...prefixesOf([logRule('mine ')], undefined),
    ...prefixesOf([logRule('allow ')], undefined),
    ...prefixesOf([logRule('nft-reject ')], undefined),
    ...prefixesOf([logRule('AUDIT x')], undefined),
    ...prefixesOf([logRule('calico-packet: ')], seen('calico-packet:')),
    ...prefixesOf([], seen('other:')),
    ...prefixesOf([], seen('other:'), true),
    ...prefixesOf([], seen('calico-drop:'), true),
    ...prefixesOf([logRule("a';b")], undefined),
    ...prefixesOf([logRule('')], undefined),
    ...prefixesOf([logRule('DROP by policy', nflog)], logOf()),
    ...prefixesOf([logRule('', nflog)], logOf({ packets: [packet('', 60_000, 'dropped')] })),
    ...prefixesOf([logRule('DROP by policy shop/db', nflog), logRule('', nflog)], seen('DROP by policy shop/db', '')),
    ...prefixesOf([logRule('my-drop: ', { packets: 1 })], logOf()),
    ...prefixesOf([logRule('my-drop: ', { packets: 3 })], logOf()),
    ...prefixesOf(many, undefined).slice(-1),
  ];
}

const nodeOf = (providerId: string): Pick<Facts, 'view' | 'ownNode'> => ({
  view: 'pod',
  ownNode: { kind: 'answered', found: { providerId } as never },
});

function switches(): Check[] {
  const namespaces: Partial<Facts>[] = [
    { logsAllNamespaces: false },
    { logsAllNamespaces: true },
    { view: 'node' },
    { view: 'node', rules: rulesOf({ logs: [logRule('', nflog)] }) },
    { view: 'pod' },
    nodeOf('kind://docker/kind/kind-worker'),
    nodeOf('aws:///eu-central-1a/i-0123456789abcdef0'),
  ];
  const config = configOf({ procRoot: '/host/proc' });
  return [
    ...namespaces.flatMap((row) => found('nf-log-all-netns', row)),
    ...[true, false].flatMap((hasProcRoot) => found('proc-root', { config, hasProcRoot })),
  ];
}

function settings(): Check[] {
  return [
    ...found('settings'),
    ...found('settings', { problems: ['a: is wrong', 'b', 'c', 'd', 'e', 'f'] }),
    ...found('settings', { warnings: ['a: is old'] }),
  ];
}

function apiServer(): Check[] {
  const unusable = 'no API server is known';
  const rows: Partial<Facts['version']>[] = [
    { took: 3193 },
    {},
    { answer: refused(403) },
    { answer: refused(0, 'connect ECONNREFUSED') },
    { answer: refused(401) },
    { answer: refused(503, 'etcd is away') },
    { answer: answered(null) },
    { answer: refused(0, 'Unexpected token < is not valid JSON') },
    { unusable, answer: refused(0, unusable), clockSkew: undefined },
    { clockSkew: 5100 },
    { clockSkew: -61_000 },
  ];
  return rows.flatMap((row) => found('api-server', versionOf(row)));
}

/** An API server that grants every right that is not missing. */
function granting(isMissing: (resource: string, group: string) => boolean): (body: unknown) => Answer {
  return (body) => {
    const { spec } = body as {
      spec: { resourceAttributes: { group: string; resource: string; subresource?: string } };
    };
    const { group, resource, subresource } = spec.resourceAttributes;
    const name = subresource === undefined ? resource : `${resource}/${subresource}`;
    return answered({ status: { allowed: !isMissing(name, group) } });
  };
}

async function granted(): Promise<Check[]> {
  const everything = { audit: [{ kind: 'stdout' as const }], auditOptOut: true, nodeCondition: true };
  const check = async (answer: (body: unknown) => Answer, config: Parameters<typeof reviewRights>[1] = everything) =>
    found('rights', {
      reviews: await reviewRights(
        fakeApi(({ body }) => answer(body)),
        config,
      ),
    });
  const checked = [
    check(
      granting(() => false),
      { audit: [], auditOptOut: false, nodeCondition: false },
    ),
    ...[...rights, optOutRight, conditionRight].map((right) =>
      check(granting((resource, group) => resource === right.resource && group === right.group)),
    ),
    check(granting((resource) => resource === 'events' || resource === 'namespaces')),
    check(() => answered(null)),
    ...[0, 403, 500].map((status) => check(() => refused(status, '(its message)'))),
  ];
  return (await Promise.all(checked)).flat();
}

function nodes(): Check[] {
  const missing = { kind: 'answered', found: undefined } as const;
  const config = configOf({ node: 'node' });
  const there: Facts['ownNode'] = { kind: 'answered', found: {} as never };
  return [
    ...found('node', { ownNode: there, config: configOf({ node: 'node-b' }) }),
    ...found('node', { ownNode: missing, config, nodes: ['node-a', 'node-b'] }),
    ...found('node', { ownNode: missing, config, nodes: ['node-a'] }),
    ...found('node', { ownNode: missing, config }),
    ...found('node'),
    ...found('node', { ownNode: { kind: 'refused', why: 'the API server does not allow it' } }),
  ];
}

const cilium = (setting?: string, events: unknown[] = []): ApiRequests =>
  fakeApi(({ path }) => {
    if (path === '/api/v1/events') return answered({ items: events });
    if (!path.endsWith('/configmaps/cilium-config')) return undefined;
    return setting === undefined ? refused(403) : answered({ data: { 'hubble-drop-events': setting } });
  });

export const ciliumEventsOf = async (api: ApiRequests): Promise<Check[]> =>
  found('cilium-events', { ciliumEvents: await lookAtCiliumEvents(api) });

export const quietCiliums: readonly ApiRequests[] = [
  cilium('false', [{}]),
  cilium(),
  fakeApi(() => refused(403)),
  fakeApi(() => refused(404)),
];

async function ciliumEvents(): Promise<Check[]> {
  return [...(await ciliumEventsOf(cilium('true'))), ...(await ciliumEventsOf(cilium(undefined, [{}])))];
}

/** An API server with these policies of a Namespace and of the cluster. */
const antrea = (ofNamespaces: readonly object[], ofCluster: readonly object[] = []): ApiRequests =>
  fakeApi(({ path }) => {
    if (path === '/apis/crd.antrea.io/v1beta1/networkpolicies') return answered({ items: ofNamespaces });
    return path === '/apis/crd.antrea.io/v1beta1/clusternetworkpolicies' ? answered({ items: ofCluster }) : undefined;
  });

export const ruleNamesOf = async (api: ApiRequests): Promise<Check[]> =>
  found('antrea-rule-names', { strangeRuleNames: await lookForStrangeRuleNames(api) });

const policy = (name: string, spec: object, namespace?: string): object => ({ metadata: { name, namespace }, spec });

async function ruleNames(): Promise<Check[]> {
  const lineBreak = { ingress: [{ action: 'Drop' }, { name: 'web\n2026/11/21 14:41:23.037955 EgressDefaultRule' }] };
  const escape = { egress: [{ name: '\u001b[2K' }] };
  const usual = { ingress: [{ name: 'web Ingress Allow 1' }], egress: [{ name: 'nach außen' }] };
  const each = [
    antrea([policy('usual', usual, 'shop')], [policy('strict', {})]),
    antrea(
      [policy('no-web', lineBreak, 'shop'), policy('usual', usual, 'shop')],
      [policy('strict', usual), policy('closed', escape)],
    ),
    fakeApi(() => refused(500, 'etcd is away')),
  ];
  return (await Promise.all(each.map(ruleNamesOf))).flat();
}

const felixWith = (spec: object, object = 'default'): ApiRequests =>
  fakeApi(({ path }) =>
    path.endsWith(`/crd.projectcalico.org/v1/felixconfigurations/${object}`) ? answered({ spec }) : undefined,
  );

const calicoOf = async (api: ApiRequests, pods: Facts['pods'] = [proxy]): Promise<Check[]> =>
  found('calico', { felix: await lookAtFelix(api, 'node-a'), pods });

async function calico(): Promise<Check[]> {
  const checked = [
    calicoOf(fakeApi(() => undefined)),
    calicoOf(fakeApi(({ path }) => (path.includes('felix') ? refused(403) : answered({})))),
    calicoOf(fakeApi(() => refused(0))),
    calicoOf(felixWith({ logPrefix: 'calico-drop %k %p' })),
    calicoOf(felixWith({ bpfEnabled: true, logSeverityScreen: 'Error' })),
    calicoOf(felixWith({ bpfEnabled: true, bpfKubeProxyIptablesCleanupEnabled: false, logPrefix: 'x' })),
    calicoOf(felixWith({ bpfEnabled: true }), []),
    calicoOf(felixWith({ logSeverityScreen: 'Error', logPrefix: 'x' }, 'node.node-a')),
  ];
  const unsure = { felix: await lookAtFelix(felixWith({ bpfEnabled: true }), 'node-a'), pods: undefined };
  return [...(await Promise.all(checked)).flat(), ...found('calico', unsure), ...(await calicoFlows())];
}

const socket = {
  kind: 'calico-flows',
  name: 'calico-flows:/flows',
  folder: '/flows',
  obstacle: undefined,
  countsReasons: undefined,
  connectionsObstacle: undefined,
} as const;

const trace = { ...socket, kind: 'bpf-trace', name: 'bpf-trace', folder: '/tracing' } as const;

async function flowsOf(spec: object, given: Facts['feeds'], object?: string): Promise<Check[]> {
  const felix = await lookAtFelix(felixWith(spec, object), 'node-a');
  return found('calico', { felix, pods: [proxy], feeds: given }).filter(({ name }) => name === 'calico-flows');
}

async function calicoFlows(): Promise<Check[]> {
  const sent = { flowLogsLocalReporter: 'Enabled' };
  const all = [
    flowsOf(sent, [socket]),
    flowsOf(sent, []),
    flowsOf({}, [socket]),
    flowsOf({}, []),
    flowsOf({ flowLogsLocalReporter: 'Disabled' }, [socket], 'node.node-a'),
  ];
  return (await Promise.all(all)).flat();
}

function feeds(): Check[] {
  const missing = { obstacle: 'no such file' };
  const probe = { ...trace, kind: 'kernel-drops', name: 'kernel-drops', countsReasons: true } as const;
  const uncounted = { ...probe, countsReasons: false };
  const unconnected = {
    ...probe,
    connectionsObstacle: "the kernel's cgroup has no ancestors. Linux 6.1 or newer tells of them",
  };
  const all = [trace, probe, socket].flatMap((feed) => [feed, { ...feed, ...missing }]);
  return found('traces and sockets', { feeds: [...all, uncounted, unconnected] });
}

function lookups(): Check[] {
  const unusable = { way: 'pod-cidr', usable: false, why: 'this Node has no podCIDR' } as const;
  const usable = { way: 'field-selector', usable: true, why: 'at most 6.0 a minute with 0 Pods, 0 Nodes' } as const;
  return [
    ...found('pod-lookups', { config: configOf({ podCache: 'cluster' }) }),
    ...found('pod-lookups', { config: configOf({ podLookups: [] }) }),
    ...found('pod-lookups', { ways: [unusable] }),
    ...found('pod-lookups', { ways: [unusable, usable] }),
    ...found('pod-lookups'),
  ];
}

const served = (
  isMissing: (resource: string, group: string) => boolean,
  others = answered({ resources: [] }),
): ApiRequests =>
  fakeApi(({ verb, path, body }) => {
    if (verb === 'POST') return granting(isMissing)(body);
    if (path === '/apis/networking.k8s.io/v1') return answered({ resources: [{ name: 'networkpolicies' }] });
    const isOfCalico = path.startsWith('/apis/crd.projectcalico.org');
    return isOfCalico ? answered({ resources: [{ name: 'globalnetworkpolicies' }] }) : others;
  });

async function guards(): Promise<Check[]> {
  const denied = "ValidatingAdmissionPolicy 'drops' with binding 'drops' denied request: ";
  const answers = [
    refused(403, `events "x" is forbidden: ${denied}the token is bound to node a: an agent writes only Events of it`),
    refused(403, `events "x" is forbidden: ${denied}Events need a label`),
    refused(403),
    refused(0),
    answered({}),
  ];
  const tried = await Promise.all(
    answers.map((answer) =>
      tryGuard(
        fakeApi(() => answer),
        { namespace: 'drops', name: 'agent-x' },
        nine,
      ),
    ),
  );
  const old = versionOf({ answer: answered({ gitVersion: 'v1.29.0', minor: '29+' }) });
  return [
    ...found('admission-policy'),
    ...tried.flatMap((guard) => found('admission-policy', { guard })),
    ...found('admission-policy', { guard: 'open', ...old }),
    ...found('admission-policy', { guard: 'open', config: configOf({ nodeCondition: true }) }),
  ];
}

/** A cluster that serves a kind only in a version of the future. */
function withOtherVersion(): ApiRequests {
  const versions = ['v1alpha2', 'v2'].map((version) => ({ groupVersion: `policy.networking.k8s.io/${version}` }));
  return fakeApi(({ verb, path, body }) => {
    if (verb === 'POST') return granting(() => false)(body);
    if (path === '/apis') return answered({ groups: [{ name: 'policy.networking.k8s.io', versions }] });
    if (path === '/apis/networking.k8s.io/v1') return answered({ resources: [{ name: 'networkpolicies' }] });
    const isOther = path === '/apis/policy.networking.k8s.io/v2';
    return answered({ resources: isOther ? [{ name: 'clusternetworkpolicies' }] : [] });
  });
}

async function policies(): Promise<Check[]> {
  const apis = [
    served(() => false),
    served((_, group) => group === 'networking.k8s.io'),
    served((resource, group) => /^(?:namespaces|serviceaccounts)$/.test(resource) || group === 'crd.projectcalico.org'),
    served(() => false, refused(503)),
    withOtherVersion(),
    fakeApi(() => refused(0)),
  ];
  const checked = apis.map(async (api) => found('policies', { policyRights: await reviewPolicies(api) }));
  return [...found('policies'), ...(await Promise.all(checked)).flat()];
}

/** The answers of an agent that has counted a few lines. */
export async function agentWith(
  set: (metrics: Metrics) => void,
  ready: { status: number; readiness: string } = { status: 200, readiness: 'ok\n' },
): Promise<Pick<Facts, 'agent'>> {
  const metrics = createMetrics({ version: '0.1.0' });
  metrics.lines.add(1234, { source: '/var/log/kern.log' });
  metrics.packets.add(1, { verdict: 'dropped' });
  metrics.packets.add(9, { verdict: 'logged' });
  metrics.eventWrites.add(2, { verb: 'create', result: 'ok' });
  metrics.eventWrites.add(4, { verb: 'create', result: 'forbidden' });
  metrics.lastDrop.set((nine - 3000) / 1000);
  metrics.configInForce.set(1);
  set(metrics);
  return { agent: { kind: 'answers', address: '127.0.0.1:9090', ...ready, metrics: await metrics.text() } };
}

async function agent(): Promise<Check[]> {
  const answers = await Promise.all([
    agentWith(() => {}),
    agentWith(() => {}, { status: 503, readiness: 'not listed yet: pods\nx\n' }),
    agentWith((metrics) => metrics.missingPermission.set(1, { verb: 'patch', resource: 'events' })),
    agentWith((metrics) => metrics.sourceState.set(1, { source: 'journal', state: 'failed' })),
    agentWith((metrics) => metrics.stateErrors.add(3, { operation: 'save' })),
    agentWith((metrics) => metrics.lostBytes.add(70, { source: 'a' })),
    agentWith((metrics) => metrics.lostRecords.add(7, { source: 'a' })),
    agentWith((metrics) => metrics.configInForce.set(0)),
  ]);
  const address = '127.0.0.1:9090';
  const silent = { kind: 'silent', address, reason: '(its reason)' } as const;
  const other = { kind: 'answers', address, status: 200, readiness: '', metrics: 'up 1\n' } as const;
  return [
    ...answers.flatMap((each) => found('agent', each)),
    ...found('agent', { agent: silent }),
    ...found('agent', { agent: silent, isPod: true }),
    ...found('agent', { agent: other }),
    ...found('agent', { config: configOf({ metricsAddress: ':0' }) }),
  ].map(({ finding, ...check }) =>
    Object.assign(check, { finding: finding.replace(/since \S+ \S+ UTC/, 'since TIME') }),
  );
}

function setMemory(metrics: Metrics): void {
  metrics.keptBytesLimit.set(32 * 2 ** 20);
  metrics.keptBytes.set(3 * 2 ** 20, { resource: 'pods' });
  metrics.keptBytes.set(2 ** 19, { resource: 'policies' });
  metrics.leftOutObjects.set(0, { resource: 'pods' });
  metrics.leftOutObjects.set(7, { resource: 'tombstones' });
}

async function memory(): Promise<Check[]> {
  const full = (metrics: Metrics): void => {
    setMemory(metrics);
    metrics.leftOutObjects.set(12, { resource: 'endpointslices' });
    metrics.leftOutObjects.set(1, { resource: 'policies' });
  };
  const answers = await Promise.all([agentWith(setMemory), agentWith(full)]);
  return answers.flatMap((each) => found('memory', each));
}
