import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { noApi, askVersion, lookAtFelix } from '../../../src/cli/doctor/api.ts';
import { type Facts, type FactLookups, gatherFacts, type FactOptions } from '../../../src/cli/doctor/facts.ts';
import { lookAtContainers, lookAtProgramLog, type Machine } from '../../../src/cli/doctor/machine.ts';
import type { Answer } from '../../../src/agent/kubernetes/connection.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { defaultRules } from '../../../src/read/sources/kubelet/find-logs.ts';
import { nine, pod } from '../../builders.ts';
import { readConfig } from '../../agent/config/reading.ts';
import { printedAsJson } from '../../read/sources/fake-journalctl.ts';
import { asUnprivileged } from '../../read/sources/tail/as-unprivileged.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { beginning } from '../../subject.ts';
import { answered, fakeApi, fakeMachine, programs, refused } from './fake.ts';
import { configOf, found, logOf, sourceWith, versionOf } from './scene.ts';

const within = temporaryFolder();

/** Gathers from a node whose folders are empty. */
function gather(given: Partial<FactOptions>): FactLookups {
  return gatherFacts({
    config: configOf({ podLogs: within('no-pods'), stateDir: within(), metricsAddress: '127.0.0.1:1' }),
    prefixes: createPrefixTable(),
    api: fakeApi(() => undefined),
    ownPod: undefined,
    machine: fakeMachine(),
    ...given,
  });
}

/** Returns all facts. */
async function gathered(given: Partial<FactOptions>): Promise<Facts> {
  const entries = Object.entries(gather(given)).map(async ([name, fact]) => [name, await fact] as const);
  return Object.fromEntries(await Promise.all(entries)) as unknown as Facts;
}

test('the API server is timed, and its clock is compared once it has answered', async () => {
  let time = nine;
  const api = fakeApi(() => {
    time += 3193;
    return answered({});
  });
  await expect(askVersion(api, () => time)).resolves.toMatchObject({ took: 3193, clockSkew: 300 });
});

test('a clock that is a little off counts as right', () => {
  expect(found('api-server', versionOf({ clockSkew: -4900 }))).toMatchObject([{}, { name: 'clock', status: 'ok' }]);
});

test('the API server: if none is configured, the way of looking up Pods is not checked', async () => {
  await expect(gathered({ api: noApi('why') })).resolves.toMatchObject({ ways: undefined, nodes: [] });
});

const node = { metadata: { name: 'node-a', uid: 'u' }, spec: { providerID: 'kind://docker/kind/kind-worker' } };

test('the Node and its Pods are requested once, and other Pods for their names', async () => {
  const api = fakeApi(({ path }) => (path === '/api/v1/nodes' ? answered({ items: [node] }) : undefined));
  const { ownNode, nodes } = await gathered({ api });
  expect({ ownNode, nodes }).toMatchObject({
    ownNode: { kind: 'answered', found: { name: 'node-a', providerId: 'kind://docker/kind/kind-worker' } },
    nodes: ['node-a'],
  });
  const asked = api.asked.map(({ query }) => query['fieldSelector']);
  expect(asked.filter((each) => each === 'metadata.name=node-a')).toHaveLength(1);
  expect(asked.filter((each) => each === 'spec.nodeName=node-a')).toHaveLength(1);
});

test.each<[string, Answer, Facts['ownNode']]>([
  ['that may not be read', refused(403), { kind: 'refused', why: expect.stringContaining('not allow') as string }],
  ['that is not there', answered({ items: [] }), { kind: 'answered', found: undefined }],
  ['that is null', answered({ items: [null] }), { kind: 'answered', found: undefined }],
  ['that is a number', answered({ items: [1] }), { kind: 'answered', found: undefined }],
  ['without metadata', answered({ items: [{ metadata: null }] }), { kind: 'answered', found: undefined }],
  [
    'that names no provider',
    answered({ items: [{ ...node, spec: { providerID: 1 } }] }),
    { kind: 'answered', found: expect.objectContaining({ providerId: undefined }) as never },
  ],
])('the Node: %s', async (_, answer, expected) => {
  const api = fakeApi(({ path }) => (path === '/api/v1/nodes' ? answer : undefined));
  expect((await gathered({ api })).ownNode).toEqual(expected);
});

test('the Node: is not requested without a name', async () => {
  const api = fakeApi(() => answered({ items: [node] }));
  const config = configOf({ node: '', podLookups: [] });
  await expect(gathered({ api, config })).resolves.toMatchObject({ ownNode: undefined, nodes: [], pods: undefined });
  expect(api.asked.filter(({ path }) => path === '/api/v1/nodes')).toEqual([]);
});

test.each([
  ['k3s://k3d-a-agent-0', 'warning'],
  ['k3s://node-a', 'unknown'],
])('the provider %s, seen from a Pod, is %s', (providerId, status) => {
  const ownNode = { kind: 'answered', found: { providerId } } as never;
  expect(found('nf-log-all-netns', { view: 'pod', ownNode })).toMatchObject([{ status }]);
});

const ownPod = { namespace: 'tools', name: 'agent-x' };
const metadata = { ...ownPod, uid: 'u' };

test.each([
  ['the machine knows', 'initial', {}, 'initial'],
  ['a Pod with hostNetwork', undefined, { hostNetwork: true }, 'node'],
  ['a Pod', undefined, {}, 'pod'],
] as const)('detects the network: %s', async (_, seen, spec, view) => {
  const api = fakeApi(({ path }) =>
    path === '/api/v1/namespaces/tools/pods' ? answered({ items: [{ metadata, spec }] }) : undefined,
  );
  const machine = fakeMachine({ lookAtNetwork: () => Promise.resolve(seen) });
  expect((await gathered({ api, ownPod, machine })).view).toBe(view);
});

test.each([
  ['kernel-drops', 'hist', true],
  ['kernel-drops', 'format', false],
  ['bpf-trace', 'hist', undefined],
] as const)(
  '%s of a tracefs with the file %s: reports whether it counts reasons',
  async (kind, file, countsReasons) => {
    const directory = within(`tracing-${kind}-${file}`);
    mkdirSync(`${directory}/events/skb/kfree_skb`, { recursive: true });
    writeFileSync(`${directory}/events/skb/kfree_skb/${file}`, '');
    const { feeds } = await gathered({ config: configOf({ sources: [{ kind, directory }] }) });
    expect(feeds).toMatchObject([{ kind, folder: directory, countsReasons }]);
  },
);

test("the node's FelixConfiguration has precedence over the cluster's", async () => {
  const api = fakeApi(({ path }) => {
    if (path === '/apis/crd.projectcalico.org/v1/felixconfigurations/default')
      return answered({ spec: { logPrefix: 'x' } });
    return path.endsWith('/node.node-a')
      ? answered({ spec: { bpfEnabled: true, logPrefix: 'calico-drop' } })
      : undefined;
  });
  await expect(lookAtFelix(api, 'node-a')).resolves.toMatchObject({
    felix: { settings: { bpfEnabled: true } },
    logPrefix: 'calico-drop',
  });
});

const proxy = pod({ namespace: 'kube-system', name: 'kube-proxy-x7k2p', hostNetwork: true });

test('the logs of containers are the latest of each', () => {
  const root = within('pods');
  expect(lookAtContainers(root, defaultRules)).toEqual({ kind: 'missing' });
  mkdirSync(root);
  expect(lookAtContainers(root, defaultRules)).toEqual({ kind: 'logs', logs: [] });
  const folder = `${root}/kube-system_kube-proxy-x7k2p_uid/kube-proxy`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/0.log`, '');
  writeFileSync(`${folder}/1.log`, '');
  const containers = lookAtContainers(root, defaultRules);
  expect(found('source containers', { containers, pods: [proxy], now: Date.now() })).toMatchObject([
    {
      status: 'ok',
      finding: expect.stringMatching(/^kube-system\/kube-proxy-x7k2p \(last line \d+s ago\)$/) as string,
    },
  ]);
});

test('the logs of containers have no line if SOURCES does not name them', async () => {
  const { containers } = await gathered({});
  expect(found('source containers', { containers })).toEqual([]);
});

test("the host's /proc has no line if it is not set", () => {
  expect(found('proc-root')).toEqual([]);
});

test.each([
  ['all of it', '/host/proc/sys/kernel/osrelease', true],
  ['the mount of conntrack-details', '/host/proc/sys/net/netfilter/nf_conntrack_max', true],
  ['nothing', '', false],
])("the host's /proc: %s exists", async (_, there, expected) => {
  const machine = fakeMachine({ readFile: (path) => (path === there ? '1' : undefined) });
  const { hasProcRoot } = await gathered({ machine, config: configOf({ procRoot: '/host/proc' }) });
  expect(hasProcRoot).toBe(expected);
});

test.each(['1', '0', undefined])("a kernel's switch for all network namespaces is %s", async (value) => {
  const machine = fakeMachine({ readFile: (path) => (path.endsWith('/nf_log_all_netns') ? value : undefined) });
  expect((await gathered({ machine })).logsAllNamespaces).toBe(value === '1');
});

const checked = (path: string): string => {
  const programLogs = [{ program: 'k3s' as const, path, look: lookAtProgramLog(path) }];
  const [check] = found('sources of programs', { programLogs });
  return `${check?.status}: ${check?.finding}`.replaceAll(path, '/a');
};

const findPrograms: Machine['findPrograms'] = () => [{ program: 'kube-proxy', path: '/var/log/kube-proxy.log' }];

test.each<[string, (path: string) => void, string]>([
  [
    'there',
    (path) => {
      writeFileSync(path, '');
      utimesSync(path, (nine - 5000) / 1000, (nine - 5000) / 1000);
    },
    'ok: /a: last written 5s ago',
  ],
  ['missing', () => {}, 'warning: /a is not there; …'],
  ['a link to nowhere', (path) => symlinkSync('nowhere', path), 'warning: /a is not there; …'],
  ['a folder', (path) => mkdirSync(path), 'problem: /a is a folder: …'],
  ['a pipe', (path) => execFileSync('mkfifo', [path]), 'problem: /a is a named pipe: …'],
])('the log file of a program: %s', (name, make, expected) => {
  const path = within(name);
  make(path);
  expect(checked(path)).toEqual(beginning(expected));
});

test('the log file of a program: cannot be read', () => {
  const path = within('shut');
  writeFileSync(path, '');
  chmodSync(path, 0);
  expect(asUnprivileged(() => checked(path))).toMatch(/^problem: \/a cannot be read: permission denied/);
});

test.each([
  ['auto', 'kube-proxy'],
  ['auto,program:k3s=/var/log/kube-proxy.log', 'k3s'],
  ['file:/a', undefined],
])('the log file of a program is found by auto if it is not named itself: SOURCES=%s', async (sources, program) => {
  const config = configOf({ sources: readConfig({}, { NODE_NAME: 'node-a', SOURCES: sources }).sources });
  const { programLogs } = await gathered({ config, machine: fakeMachine({ findPrograms }) });
  expect(programLogs.map((log) => log.program)).toEqual(program === undefined ? [] : [program]);
});

const field = 'journalctl --quiet --no-pager --directory=/j --field=_SYSTEMD_UNIT';

/** Returns the end of the check's line, after the part about the kernel. */
async function look(fields: Parameters<typeof programs>[0], units = ['k3s.service']): Promise<string | undefined> {
  const run = programs({ journalctl: printedAsJson({ number: 1, message: 'x' }), ...fields });
  const { kernelSources } = await gathered({
    config: configOf({ sources: [{ kind: 'journal', directory: '/j' }], units }),
    machine: fakeMachine({ findJournal: () => ({ directory: '/j' }), run }),
  });
  return found('sources', { kernelSources })[0]?.finding.replace(/^.*\)/, '');
}

test('units with records in the journal are named', async () => {
  expect(await look({ [field]: 'ssh.service\nk3s.service\n' })).toBe('; records of k3s.service');
  expect(await look({ [field]: 'ssh.service\n' })).toBe('; no records of UNITS');
});

test('no units are reported if none is named or the journal cannot be read', async () => {
  expect(await look({ [field]: { kind: 'failed', reason: 'no' } })).toBe('');
  expect(await look({}, [])).toBe('');
});

test('the source with most packets shows the prefixes', () => {
  const packets = [{ prefix: 'my-drop:', verdict: 'dropped', time: nine - 60_000 }] as const;
  const kernelSources = [
    ...sourceWith({ reason: 'no' }),
    ...sourceWith(logOf({ lines: 99 })),
    ...sourceWith(logOf({ packets })),
  ];
  expect(found('prefixes', { kernelSources }).map(({ name }) => name)).toEqual(['prefix my-drop:']);
});

test('a fact that cannot be gathered does not affect the others', async () => {
  const machine = fakeMachine({
    findPrograms() {
      throw new Error('no luck');
    },
  });
  const { programLogs, hasProcRoot } = gather({ machine });
  await expect(programLogs).rejects.toThrow('no luck');
  await expect(hasProcRoot).resolves.toBe(false);
});
