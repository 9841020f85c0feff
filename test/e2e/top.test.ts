import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { connect } from './control-plane/connection.ts';
import { createPluginShell, type PluginShell } from './kubectl-plugin/plugin-shell.ts';
import { createLiveDropsRig, type LiveDropsRig } from './live-drops-rig.ts';
import { createOwnFolder } from './own-folder.ts';
import { openTerminal, type Terminal } from './top/terminal.ts';

/** `kubectl drops top` with the real kubectl, in a pseudo-terminal, at an agent behind the proxy of a real API server. */

const controlPlane = connect(inject('controlPlane'));
let rig: LiveDropsRig;
let shell: PluginShell;
let folder: string;

beforeAll(async () => {
  rig = await createLiveDropsRig(controlPlane);
  folder = createOwnFolder('top');
  shell = createPluginShell(controlPlane, folder, rig.namespace);
  mkdirSync(join(folder, 'home'));
  rig.drop(5432, 3);
  rig.drop(80);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await rig.stop();
});

function args(...more: string[]): string[] {
  return ['drops', 'top', '-n', rig.namespace, '--agents-port', String(rig.port), '--interval', '1', ...more];
}

function start(
  size: { columns: number; lines: number },
  env: Record<string, string> = {},
  more: string[] = [],
): Terminal {
  const environment = { ...shell.env, KUBECONFIG: rig.viewer, ...env };
  return openTerminal([controlPlane.kubectlPath, ...args(...more)], environment, size);
}

/** A picture is drawn in several pieces; keys stand in its last line. */
const isWhole = (lines: string[]): boolean => lines.at(-1)?.startsWith('<q> quit') === true;

const hasRow =
  (port: number) =>
  (lines: string[]): boolean =>
    lines.some((line) => line.includes(` ${port}/TCP `));

test.each([
  [80, 24],
  [200, 50],
])('at %i columns and %i lines: the rows, keys, and the end', async (columns, lines) => {
  const terminal = start({ columns, lines });
  const shown = await terminal.until((all) => hasRow(5432)(all) && hasRow(80)(all) && isWhole(all));
  expect(terminal.isOnSecondScreen()).toBe(true);
  expect(shown[0]).toContain(rig.namespace);
  expect(shown.find((line) => line.includes(' 5432/TCP '))).toContain(`${rig.namespace}/web`);
  expect(shown.some((line) => line.includes('PACKETS'))).toBe(columns >= 100);
  await terminal.until(() => terminal.hasColours());

  rig.drop(5432, 40);
  await terminal.until((all) => /(?!0)\d/.test(/5432\/TCP +(\S+)/.exec(all.join('\n'))?.[1] ?? ''));

  // The port alone may also stand in the random name of the namespace.
  terminal.type('/80/tcp');
  await terminal.until((all) => hasRow(80)(all) && !hasRow(5432)(all) && all.at(-1) === 'filter: 80/tcp_');
  terminal.type('\r');
  await terminal.until((all) => all.at(-1)?.startsWith('filter: 80/tcp  <esc>') === true);
  terminal.type('\u001B');
  await terminal.until(hasRow(5432));

  terminal.type('F');
  await terminal.until((all) => all[2]?.includes('FROM↑') === true);
  terminal.type('\u001B[B');
  await terminal.until((all) => all[4]?.startsWith('> ') === true);

  terminal.type('q');
  expect(await terminal.untilExit()).toBe(0);
  expect(terminal.isOnSecondScreen()).toBe(false);
  expect(terminal.written()).toContain('\u001B[?25h');
});

test('a terminal that grows is filled', async () => {
  const terminal = start({ columns: 95, lines: 20 });
  await terminal.until(hasRow(5432));
  terminal.grow();
  await terminal.until((all) => all.at(-1)?.startsWith('<q>') === true && all[2]?.includes('PACKETS') === true);
  terminal.type('q');
  expect(await terminal.untilExit()).toBe(0);
});

test('a terminal that can do nothing (TERM=dumb) gets plain tables', async () => {
  const terminal = start({ columns: 80, lines: 24 }, { TERM: 'dumb' }, ['--count', '1']);
  expect(await terminal.untilExit()).toBe(0);
  expect(terminal.written()).not.toContain('\u001B');
});

test('one table is printed without a terminal', async () => {
  const { code, stdout, stderr } = await shell.kubectl(args(), rig.viewer);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout.match(/^FROM /gm)).toHaveLength(1);
  expect(stdout).toContain(' 5432/TCP ');
});

test('who has no right to the agents gets the answer of the API server, before anything is drawn', async () => {
  const terminal = openTerminal(
    [controlPlane.kubectlPath, ...args()],
    { ...shell.env, KUBECONFIG: rig.stranger },
    { columns: 80, lines: 24 },
  );
  expect(await terminal.untilExit()).toBe(1);
  expect(terminal.written()).toMatch(/^kubectl drops top: .*cannot list resource "pods"/);
});

test.each([
  ['no agent', ['--agents-namespace', 'default']],
  ['an agent that does not serve flows', ['--agents-port', '1']],
])('%s: one line, and exit status 1', async (_, more) => {
  const { code, stdout, stderr } = await shell.kubectl(args(...more), controlPlane.adminKubeconfig);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^kubectl drops top: .+\n$/);
});
