/** What the stand-in has to do as a kubelet does, or tests on top of it prove nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { startControllers } from '../control-plane/controllers.ts';
import { outcomeOf } from '../outcome.ts';
import { startNode, type TestNode } from './node.ts';
import type { Pod } from './pod-object.ts';

const SET_UP_WITHIN_MS = 600_000;
const image = 'registry.example.com/kube-netfilter-tailer:1-journal';
const ending: (() => Promise<void>)[] = [];
let controlPlane: ControlPlane;
let node: TestNode;

beforeAll(async () => {
  controlPlane = await startControlPlane({ withNodes: true });
  ending.unshift(controlPlane.stop);
  ending.unshift((await startControllers(controlPlane)).stop);
  node = await startNode(controlPlane, { name: 'node-t' });
  ending.unshift(node.destroy);
}, SET_UP_WITHIN_MS);
afterAll(async () => {
  for (const end of ending) await end();
});

const print = (text: string): readonly string[] => ['/usr/local/bin/node', '-p', text];
/** Prints "waiting" when it is ready for the signal to end, which takes it no time. */
const wait = [
  '/usr/local/bin/node',
  '-e',
  'process.on("SIGTERM", () => { console.log("ending"); process.exit(0); }); setInterval(() => {}, 1000); console.log("waiting")',
];

test('a container runs as its Pod says, and its log is shown', async () => {
  const look = `JSON.stringify({
    env: process.env, ids: [process.getuid(), process.getgid(), process.getgroups()], host: require("os").hostname(),
    caps: /CapEff:\\s*(\\w+)/.exec(fs.readFileSync("/proc/self/status", "utf8"))[1], pid: process.pid,
    token: fs.readdirSync("/var/run/secrets/kubernetes.io/serviceaccount").sort().filter((each) => each[0] !== "."),
    refused: ["/x", "/host/x"].map((path) => { try { fs.writeFileSync(path, ""); return "written"; } catch ({ code }) { return code; } }),
    shell: fs.existsSync("/bin/sh"), journalctl: fs.existsSync("/usr/bin/journalctl")
  })`;
  const container = {
    command: print(look),
    env: [
      { name: 'PLAIN', value: 'yes' },
      { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      { name: 'LABEL', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
    ],
    volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }],
    securityContext: {
      readOnlyRootFilesystem: true,
      runAsUser: 1234,
      runAsGroup: 1234,
      capabilities: { drop: ['ALL'] },
    },
  };
  const pod = {
    labels: { app: 'looker' },
    spec: {
      restartPolicy: 'Never',
      securityContext: { supplementalGroups: [4] },
      volumes: [{ name: 'host', hostPath: { path: '/var/log', type: 'Directory' } }],
    },
  };
  await create('looker', container, pod);
  await untilState('looker', (state) => 'terminated' in state);
  const seen = JSON.parse(await succeed(['logs', 'looker'])) as Record<string, unknown>;
  expect(seen).toEqual({
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      MALLOC_ARENA_MAX: '1',
      MALLOC_MMAP_THRESHOLD_: '32768',
      HOSTNAME: 'looker',
      // The runtime's.
      HOME: '/',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      PLAIN: 'yes',
      NODE_NAME: 'node-t',
      LABEL: 'looker',
    },
    ids: [1234, 1234, expect.arrayContaining([4]) as number[]],
    host: 'looker',
    caps: '0000000000000000',
    pid: 1,
    token: ['ca.crt', 'namespace', 'token'],
    refused: ['EROFS', 'EROFS'],
    shell: false,
    journalctl: true,
  });
});

test('exec: output of both kinds, standard input and the exit status', async () => {
  await create('runner', { command: wait });
  await untilState('runner', (state) => 'running' in state);
  const script =
    'process.stdin.on("data", (d) => console.log("heard " + d)).on("end", () => { console.error("bad"); process.exitCode = 7; })';
  const ran = await controlPlane.kubectl(['exec', '-i', 'runner', '--', 'node', '-e', script], { input: 'something' });
  expect(ran).toMatchObject({
    stdout: 'heard something\n',
    stderr: expect.stringMatching(/^bad\n.*exit code 7/) as string,
  });
  expect(ran.code).toBe(7);
});

test('a deleted Pod gets the signal to end, and then is gone', async () => {
  await create('ending', { command: wait });
  await untilState('ending', (state) => 'running' in state);
  const { uid } = (await getPod('ending')).metadata;
  const log = spawn(controlPlane.kubectlPath, ['--kubeconfig', controlPlane.adminKubeconfig, 'logs', '-f', 'ending']);
  const followed = outcomeOf(log);
  await Promise.race([once(log.stdout, 'data'), followed]);
  await succeed(['delete', 'pod', 'ending', '--grace-period=20']);
  expect(await followed).toEqual({ code: 0, stdout: 'waiting\nending\n', stderr: '' });
  const folder = node.machine.outside(`/var/log/pods/default_ending_${uid}`);
  expect(readFileSync(`${folder}/main/0.log`, 'utf8')).toMatch(/^\S+Z stdout F waiting\n\S+Z stdout F ending\n$/);
});

test('a container that fails is started again, and one whose image is not there waits', async () => {
  await create('failing', { command: print('process.exit(3)') });
  await create('unknown', { image: 'registry.example.com/nothing:1' });
  await untilState('unknown', (state) => state.waiting?.reason === 'ErrImagePull');
  const waiting = await untilState('failing', (state) => state.waiting?.reason === 'CrashLoopBackOff');
  // As it was then: ten seconds later it is started again.
  expect(waiting).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 3 } }, ready: false });
});

test('probes: not ready before the probe says so, restarted when it is not alive', async () => {
  const serve = `require("http").createServer(({ url }, answer) => { answer.statusCode = fs.existsSync("/tmp" + url) ? 200 : 500; answer.end(); }).listen(8080)`;
  await create(
    'probed',
    {
      command: ['/usr/local/bin/node', '-e', serve],
      ports: [{ name: 'http', containerPort: 8080 }],
      startupProbe: { ...httpProbe('/'), failureThreshold: 30 },
      readinessProbe: httpProbe('/ready'),
      livenessProbe: {
        exec: { command: ['node', '-e', 'process.exit(Number(fs.existsSync("/tmp/dead")))'] },
        periodSeconds: 1,
      },
    },
    { spec: { terminationGracePeriodSeconds: 1 } },
  );
  await untilStatus('probed', ({ started, ready }) => started && !ready);
  await succeed(['exec', 'probed', '--', 'node', '-e', 'fs.writeFileSync("/tmp/ready", "")']);
  await untilStatus('probed', ({ ready }) => ready);
  await succeed(['exec', 'probed', '--', 'node', '-e', 'fs.writeFileSync("/tmp/dead", "")']);
  await untilStatus('probed', ({ restartCount }) => restartCount === 1);
});

test('nothing of it is left when it has ended, nor of a Pod that was being started', async () => {
  const before = networks();
  const other = await startNode(controlPlane, { name: 'node-u', address: '192.0.2.11', podRange: '10.78.0' });
  const folder = other.machine.outside('/');
  expect(existsSync(folder)).toBe(true);
  expect(networks().length).toBeGreaterThan(before.length);
  await create('starting', { command: wait }, { spec: { nodeName: other.name } });
  await expect.poll(async () => (await getPod('starting')).status, { timeout: 60_000 }).toHaveProperty('podIP');
  await other.destroy();
  expect(existsSync(folder)).toBe(false);
  expect(networks()).toEqual(before);
});

test('nothing of one that cannot be started is left', async () => {
  const before = [networks(), folders()];
  // The API server takes no such name for a Node.
  const options = { name: 'NODE', address: '192.0.2.12', podRange: '10.79.0' };
  await expect(startNode(controlPlane, options)).rejects.toThrow('NODE');
  expect([networks(), folders()]).toEqual(before);
});

function folders(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`kube-netfilter-tailer-machine-${process.pid}-`));
}

/** Network namespaces; other tests of this machine have some, too. */
function networks(): readonly string[] {
  return readdirSync('/run/netns').filter((name) => name.includes(`-${process.pid}-`));
}

function httpProbe(path: string): object {
  return { httpGet: { path, port: 'http' }, periodSeconds: 1, failureThreshold: 2 };
}

interface Status {
  readonly started: boolean;
  readonly ready: boolean;
  readonly restartCount: number;
  readonly state: Readonly<Record<string, { reason?: string } | undefined>>;
}

async function create(
  name: string,
  container: object,
  { labels = {}, spec = {} }: { labels?: object; spec?: object } = {},
): Promise<void> {
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels },
    spec: {
      nodeName: 'node-t',
      enableServiceLinks: false,
      ...spec,
      containers: [{ name: 'main', image, ...container }],
    },
  };
  const { status, body: answer } = await controlPlane.request('POST', '/api/v1/namespaces/default/pods', { body });
  expect({ status, answer }).toMatchObject({ status: 201 });
}

async function getPod(name: string): Promise<Pod> {
  const { body } = await controlPlane.request('GET', `/api/v1/namespaces/default/pods/${name}`);
  return body as Pod;
}

/** Resolves to the status that matches. */
async function untilStatus(name: string, matches: (status: Status) => boolean): Promise<Status | undefined> {
  let found: Status | undefined;
  await expect
    .poll(
      async () => {
        const { status } = (await getPod(name)) as unknown as { status: { containerStatuses?: Status[] } };
        found = (status.containerStatuses ?? []).find(matches);
        return found;
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBeDefined();
  return found;
}

async function untilState(name: string, matches: (state: Status['state']) => boolean): Promise<Status | undefined> {
  return await untilStatus(name, ({ state }) => matches(state));
}

async function succeed(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await controlPlane.kubectl(args);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stdout;
}
