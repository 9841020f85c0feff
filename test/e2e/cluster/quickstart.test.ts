/** "Five minutes to the first Event" of docs/quickstart.md, run as it stands, as a newcomer would. Prints how long each step takes. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connectCluster } from './cluster.ts';
import { createPrograms } from './programs.ts';
import { type Shell, startShell } from './shell.ts';
import { notPrinted, type Step, stepsOf } from './steps.ts';

const root = join(import.meta.dirname, '../../..');
/** 15 of them are the DaemonSet's minReadySeconds. */
const STEP_WITHIN_MS = 240_000;
/** For this long, the newcomer looks again until the output is what a step shows. */
const SHOWN_WITHIN_MS = 30_000;

const steps = stepsOf('Five minutes to the first Event');
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-quickstart-'));
const times: string[] = [];
const cluster = connectCluster(inject('cluster'));
const { controlPlane, nodes } = cluster;
let shell: Shell;

beforeAll(() => {
  const checkout = join(folder, 'checkout');
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').slice(0, -1);
  for (const file of files.filter((each) => !each.startsWith('test/')))
    cpSync(join(root, file), join(checkout, file), { recursive: true });
  shell = startShell(folder, checkout, {
    PATH: [createPrograms(folder, cluster), process.env['PATH']].join(delimiter),
    HOME: folder,
    KUBECONFIG: controlPlane.adminKubeconfig,
  });
});

afterAll(async () => {
  await shell.end();
  rmSync(folder, { recursive: true, force: true });
  const all = times.reduce((sum, each) => sum + Number(/: ([\d.]+) s$/.exec(each)?.[1] ?? 0), 0);
  times.push(`in all: ${all.toFixed(1)} s`);
  process.stdout.write(`[quickstart] ${times.join('\n[quickstart] ')}\n`);
});

test('it has commands to run and shown outputs', () => {
  expect(steps.length).toBeGreaterThan(4);
  expect(steps.filter(({ shown }) => shown.length > 0)).toHaveLength(3);
});

test('a failing command and a shown line that is not printed are detected', async () => {
  expect(await shell.run('echo before\nfalse\necho after\n')).toMatchObject({ status: 1, output: 'before\n' });
  expect(await shell.run('cat missing | head -n 1\n')).toMatchObject({ status: 1 });
  const output = 'Events:\n  Warning  PacketDrop  12s  from 10.0.0.1\nend\n';
  expect(notPrinted(['Events:', '…', 'Warning PacketDrop 2s from 10.1.1.1', 'end'], output)).toEqual([]);
  expect(notPrinted(['Warning PacketDrop 2s …'], output)).toEqual([]);
  expect(notPrinted(['Warning PacketDrop 2s', 'end', 'Events:'], output)).toEqual(['Warning PacketDrop 2s', 'Events:']);
});

// In order: each step continues where the previous one stopped.
test.each(steps.map((step, index): [number, string, Step] => [index + 1, step.commands.split('\n')[0] ?? '', step]))(
  'block %i: %s',
  async (number, first, step) => {
    times.push(`block ${number}, ${first}: ${(await untilShown(step)).toFixed(1)} s`);
  },
  STEP_WITHIN_MS,
);

test('the start of the agents causes no Event of a failed probe', async () => {
  const args = ['-n', 'kube-netfilter-tailer', 'get', 'events', '--field-selector', 'reason=Unhealthy', '-o', 'name'];
  expect(await controlPlane.kubectl(args)).toMatchObject({ code: 0, stdout: '' });
});

test('the rule of the test drop is removed again', async () => {
  for (const node of nodes) expect(await node.run(['iptables', '-S', 'OUTPUT'])).not.toContain('test-drop');
});

test('the log of an agent exists', async () => {
  const { code, stdout } = await controlPlane.kubectl(
    '-n kube-netfilter-tailer logs ds/kube-netfilter-tailer'.split(' '),
  );
  expect(code).toBe(0);
  expect(stdout).toContain('"msg":"Reading the kernel\'s log from the journal in /run/log/journal"');
});

test('the script that makes rules log works on the node as the page gives it', async () => {
  const rule = ['FORWARD', '-p', 'tcp', '-m', 'tcp', '--dport', '5432', '-j'];
  for (const node of nodes) await node.run(['iptables', '-A', ...rule, 'DROP']);
  const { commands = '' } = stepsOf('Turn the logging on').at(-1) ?? {};
  expect(commands).toContain('iptables-logdrop.sh');
  expect(await shell.run(commands)).toMatchObject({ status: 0 });
  const { output: node } = await shell.run('echo $NODE');
  const changed = nodes.find(({ name }) => name === node.trim());
  expect(await changed?.run(['iptables', '-S', 'FORWARD'])).toContain(`-A ${rule.join(' ')} KNT-LOGDROP\n`);
  const remove = 'ssh "root@$NODE" sh -s -- --remove < deploy/logging/iptables-logdrop.sh\n';
  expect(await shell.run(remove)).toMatchObject({ status: 0 });
  for (const each of nodes) await each.run(['iptables', '-D', ...rule, 'DROP']);
});

test("the page's last commands remove everything", async () => {
  const { status, output, seconds } = await shell.run('kubectl delete -k my-cluster\n');
  expect({ status, output }).toMatchObject({ status: 0 });
  times.push(`kubectl delete: ${seconds.toFixed(1)} s`);
  const { stdout } = await controlPlane.kubectl(['get', 'pods', '-n', 'kube-netfilter-tailer', '-o', 'name']);
  expect(stdout).toBe('');
});

/** Resolves to the seconds that it took. */
async function untilShown({ commands, shown }: Step): Promise<number> {
  const started = performance.now();
  for (;;) {
    const ran = await shell.run(commands);
    expect(ran).toMatchObject({ status: 0 });
    const missing = notPrinted(shown, ran.output);
    const seconds = (performance.now() - started) / 1000;
    if (missing.length === 0) return seconds;
    if (seconds * 1000 > SHOWN_WITHIN_MS) {
      expect(ran.output, 'the output has to show what the text says').toContain(missing.join('\n'));
    }
    await delay(200);
  }
}
