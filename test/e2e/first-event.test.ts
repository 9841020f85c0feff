/**
 * "Five minutes to the first Event" of docs/quickstart.md, run as it stands, as a newcomer would: on a cluster of its own with one Node
 * (node/node.ts says what of that is real). Prints how long each step takes.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, startCluster } from './first-event-cluster.ts';
import { notPrinted, type Step, stepsOf } from './first-event-steps.ts';
import { type Ran, type Shell, startShell } from './first-event-shell.ts';

const root = join(import.meta.dirname, '../..');
/** Binaries that no other test has asked for are built. */
const SET_UP_WITHIN_MS = 600_000;
/** 15 of them are the DaemonSet's minReadySeconds. */
const STEP_WITHIN_MS = 150_000;
/** Until what a step shows is there: the newcomer looks again. */
const SHOWN_WITHIN_MS = 30_000;

const steps = stepsOf('Five minutes to the first Event');
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-first-event-'));
const times: string[] = [];
const ending: (() => Promise<void>)[] = [];
let cluster: Cluster;
let shell: Shell;

beforeAll(async () => {
  cluster = await startCluster(folder, 'node-a');
  ending.unshift(cluster.end);
  const checkout = join(folder, 'checkout');
  cpSync(join(root, 'deploy'), join(checkout, 'deploy'), { recursive: true });
  shell = startShell(folder, checkout, {
    PATH: [cluster.programs.path, process.env['PATH']].join(delimiter),
    HOME: folder,
    KUBECONFIG: cluster.controlPlane.adminKubeconfig,
  });
  ending.unshift(shell.end);
}, SET_UP_WITHIN_MS);

afterAll(async () => {
  for (const end of ending) await end();
  rmSync(folder, { recursive: true, force: true });
  const all = times.reduce((sum, each) => sum + Number(/: ([\d.]+) s$/.exec(each)?.[1] ?? 0), 0);
  times.push(`in all: ${all.toFixed(1)} s`);
  process.stdout.write(`[first-event] ${times.join('\n[first-event] ')}\n`);
});

test('there are commands to run, and output is shown', () => {
  expect(steps.length).toBeGreaterThan(4);
  expect(steps.filter(({ shown }) => shown.length > 0)).toHaveLength(3);
});

test('what fails, and what is shown but not printed, is noticed', async () => {
  expect(await shell.run('echo before\nfalse\necho after\n')).toMatchObject({ status: 1, output: 'before\n' });
  expect(await shell.run('cat missing | head -n 1\n')).toMatchObject({ status: 1 });
  const output = 'Events:\n  Warning  PacketDrop  12s  from 10.0.0.1\nend\n';
  expect(notPrinted(['Events:', '…', 'Warning PacketDrop 2s from 10.1.1.1', 'end'], output)).toEqual([]);
  expect(notPrinted(['Warning PacketDrop 2s …'], output)).toEqual([]);
  expect(notPrinted(['Warning PacketDrop 2s', 'end', 'Events:'], output)).toEqual(['Warning PacketDrop 2s', 'Events:']);
});

// In order: each goes on where the last one stopped.
test.each(steps.map((step, index): [number, string, Step] => [index + 1, step.commands.split('\n')[0] ?? '', step]))(
  'block %i: %s',
  async (number, first, step) => {
    const { seconds } = await untilShown(step);
    times.push(`block ${number}, ${first}: ${seconds.toFixed(1)} s`);
  },
  STEP_WITHIN_MS,
);

test('the image that was asked for is the one that was built and pushed', () => {
  const reference = 'registry.example.com/kube-netfilter-tailer:0.1.0-journal';
  expect(cluster.programs.engine()).toEqual([`build --target journal -t ${reference} .`, `push ${reference}`]);
});

test('the start of the agent is no Event of a probe that failed', async () => {
  const args = ['-n', 'kube-netfilter-tailer', 'get', 'events', '--field-selector', 'reason=Unhealthy', '-o', 'name'];
  expect(await cluster.controlPlane.kubectl(args)).toMatchObject({ code: 0, stdout: '' });
});

test('the rule of the test drop is gone again, and the log of the agent is there', async () => {
  const { stdout } = await cluster.node.shell('iptables -S OUTPUT');
  expect(stdout).toBe('-P OUTPUT ACCEPT\n');
  const { code, stdout: log } = await cluster.controlPlane.kubectl([
    '-n',
    'kube-netfilter-tailer',
    'logs',
    'ds/kube-netfilter-tailer',
  ]);
  expect(code).toBe(0);
  expect(log).toContain('"msg":"Reading the kernel\'s log from the journal in /run/log/journal"');
});

test('the script that makes rules log, given to the node as the text gives it', async () => {
  await cluster.node.shell('iptables -A FORWARD -p tcp --dport 5432 -j DROP');
  const { commands = '' } = stepsOf('Turn the logging on').at(-1) ?? {};
  expect(commands).toContain('iptables-logdrop.sh');
  expect(await shell.run(commands)).toMatchObject({ status: 0 });
  const { stdout } = await cluster.node.shell('iptables -S FORWARD');
  expect(stdout).toContain('-A FORWARD -p tcp -m tcp --dport 5432 -j KNT-LOGDROP\n');
});

test('all is taken away as the text says', async () => {
  const { status, output, seconds } = await shell.run('kubectl delete -k my-cluster\n');
  expect({ status, output }).toMatchObject({ status: 0 });
  times.push(`kubectl delete: ${seconds.toFixed(1)} s`);
  const { stdout } = await cluster.controlPlane.kubectl(['get', 'pods', '-A', '-o', 'name']);
  expect(stdout).toBe('');
});

async function untilShown({ commands, shown }: Step): Promise<Ran> {
  const started = performance.now();
  for (;;) {
    const ran = await shell.run(commands);
    expect(ran).toMatchObject({ status: 0 });
    const missing = notPrinted(shown, ran.output);
    const seconds = (performance.now() - started) / 1000;
    if (missing.length === 0) return { ...ran, seconds };
    if (seconds * 1000 > SHOWN_WITHIN_MS) {
      expect(ran.output, 'the output has to show what the text says').toContain(missing.join('\n'));
    }
    await delay(200);
  }
}
