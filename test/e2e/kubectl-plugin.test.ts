import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CoreEvent } from '../../src/events/event.ts';
import { type CommandResult, type Connection, connect } from './control-plane/connection.ts';
import { drop } from './kubectl-plugin/drop.ts';
import { createOwnFolder } from './own-folder.ts';
import { createPluginShell, plugins, type PluginShell } from './kubectl-plugin/plugin-shell.ts';

/** deploy/kubectl-plugin with the real kubectl, which finds it on its PATH. */

const shop = `drops-${randomBytes(3).toString('hex')}`;
const quiet = `${shop}-quiet`;
const large = `${shop}-large`;
const hostile = `${shop}-hostile`;

let controlPlane: Connection;
let folder: string;
let shell: PluginShell;

beforeAll(async () => {
  controlPlane = connect(inject('controlPlane'));
  folder = createOwnFolder('plugin');
  shell = createPluginShell(controlPlane, folder, shop);
  for (const name of [shop, quiet, large, hostile])
    await controlPlane.request('POST', '/api/v1/namespaces', {
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    });
  const namespace = shop;
  const received = 'Dropped: from "web"';
  await send(drop('postgres-0', received, { namespace, count: 36, secondsAgo: 30 }));
  await send(drop('cart-7', 'Dropped: to 192.0.2.7', { namespace, count: 2, secondsAgo: 90 }));
  const other = drop('postgres-0', 'Not ready', { namespace });
  await send({ ...other, reason: 'Unhealthy', ...by('kubelet') });
  await send({ ...drop('postgres-0', 'From another program', { namespace }), ...by('kube-iptables-tailer') });
  await send({
    ...drop('postgres-0', 'The network of node-a is degraded', { namespace }),
    reason: 'NodeNetworkDegraded',
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

test('kubectl finds it', async () => {
  expect((await shell.kubectl(['plugin', 'list'])).stdout).toContain(join(plugins, 'kubectl-drops'));
});

test('the namespace of the context, what is newest last', async () => {
  const { code, stdout, stderr } = await drops([]);
  expect([code, stderr]).toEqual([0, '']);
  const width = `${shop}/postgres-0`.length;
  expect(stdout.replaceAll(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/gm, 'TIME                ')).toBe(
    [
      `LAST                   COUNT  ${'OBJECT'.padEnd(width)}  MESSAGE`,
      `TIME                       2  ${`${shop}/cart-7`.padEnd(width)}  Dropped: to 192.0.2.7`,
      `TIME                      36  ${shop}/postgres-0  Dropped: from "web"`,
      '',
    ].join('\n'),
  );
});

test.each([['postgres-0'], ['pod/postgres-0']])('one Pod: %s', async (pod) => {
  const { stdout } = await drops([pod]);
  expect(stdout).toContain(`${shop}/postgres-0`);
  expect(stdout).not.toContain('cart-7');
});

test('kubectl drops leaves out other Events of the agent', async () => {
  const { stdout } = await drops(['--all', 'postgres-0']);
  expect(stdout).toContain('The network of node-a is degraded');
  expect(stdout).not.toMatch(/Not ready|another program/);
});

test.each([
  ['-n', () => ['-n', shop]],
  ['--namespace=', () => [`--namespace=${shop}`]],
  ['-A', () => ['-A']],
  ['--context', () => ['--context', 'shop']],
])('another namespace: %s', async (_, args) => {
  const { stdout } = await drops(args(), shell.configWith(quiet, shop));
  expect(stdout).toContain(`${shop}/postgres-0`);
});

test('--kubeconfig', async () => {
  const { stdout } = await shell.kubectl(['drops', '--kubeconfig', shell.configWith(shop)], '/nonexistent');
  expect(stdout).toContain(`${shop}/postgres-0`);
});

test('none: it says so, and how to check', async () => {
  const { code, stdout, stderr } = await drops(['-n', quiet]);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toMatch(/^No lost packets are known here\..*\n.* kube-netfilter-tailer doctor\n$/);
});

test.each(['json', 'yaml', 'name', 'wide'])('-o %s', async (format) => {
  const answers = await Promise.all(
    [['-o', format], [`-o${format}`], [`--output=${format}`]].map((args) => drops(args)),
  );
  // Ages, of the last time and with wide of the first time too: a second may pass between two answers.
  const outputs = answers.map(({ stdout }) => stdout.replaceAll(/(?<=^| )(?:\d+[dhms])+ +/gm, 'AGE '));
  expect(new Set(outputs).size).toBe(1);
  expect(outputs[0]).toMatch(
    { json: /"message"/, yaml: /message:/, name: /^event\//, wide: /FIRST SEEN/ }[format] ?? /^$/,
  );
  if (format === 'json') expect(JSON.parse(outputs[0] ?? '')).toMatchObject({ items: [{ count: 2 }, { count: 36 }] });
});

test('more than one page', async () => {
  const count = 620;
  const pods = Array.from({ length: count }, (_, index) => `pod-${index}`);
  for (let from = 0; from < count; from += 62)
    await Promise.all(pods.slice(from, from + 62).map((pod) => send(drop(pod, 'dropped', { namespace: large }))));
  const { stdout } = await drops(['-n', large]);
  expect(stdout.trimEnd().split('\n')).toHaveLength(count + 1);
});

describe('hostile', () => {
  test('what would steer a terminal or look like another line is shown as text', async () => {
    const message = 'a\u001B[2J\u001B]0;owned\u0007\nb\tc\r\u009B31m\u202Ed\\"e\\" "f" %s $(id) `id` ${HOME} é';
    await send(drop('web-0', message, { namespace: hostile, name: '\u001B[31mred %d' }));
    const { code, stdout, stderr } = await drops(['-n', hostile]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(stdout).toContain(String.raw`${hostile}/\x1b[31mred %d`);
    expect(stdout).toContain(String.raw`a\x1b[2J\x1b]0;owned\a\nb\tc\r\u009b31m\u202ed`);
    expect(stdout).toContain('"f" %s $(id) `id` ${HOME} é');
  });

  test.each([['web,type=Normal'], ['Web'], ['$(id)'], ['*'], ['pod/']])('the name %s is refused', async (pod) => {
    expect(await drops([pod])).toMatchObject({ code: 2, stderr: `kubectl drops: "${pod}" is not the name of a Pod\n` });
  });
});

test('the value of every flag that kubectl has in all commands is taken for no Pod', async () => {
  const { stdout } = await shell.kubectl(['options']);
  const flags = [...stdout.matchAll(/^ +(?:(-\w), )?(--[\w-]+)=(?!true:|false:)/gm)].flatMap(([, short, long = '']) =>
    short === undefined ? [long] : [short, long],
  );
  expect(flags).toContain('--kubeconfig');
  // kubectl itself looks for the value of this one, before it looks for plugins.
  for (const flag of flags.filter((each) => each !== '--kuberc'))
    expect(await drops([flag])).toMatchObject({ code: 2, stderr: `kubectl drops: ${flag} needs a value\n` });
});

test.each([
  [['a', 'b'], 'one Pod at a time'],
  [['-n'], '-n needs a value'],
  [['--sort-by=.count'], 'cannot be used here'],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await drops(args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('errors of kubectl itself are printed, with its exit status', async () => {
  const { code, stderr } = await drops(['--context', 'no-such-context']);
  expect(code).toBe(1);
  expect(stderr).toContain('no-such-context');
});

test('--help', async () => {
  const { code, stdout } = await drops(['--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('Usage: kubectl drops');
});

test('--watch shows what there is, then what comes', async () => {
  const child = shell.start(['drops', '--watch', 'late-0']);
  const ended = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const printed = createInterface(child.stderr)[Symbol.asyncIterator]();
  // The watch begins a moment after that.
  expect((await printed.next()).value).toContain('No lost packets');
  const shown = lines.next().then(({ value }) => String(value));
  let first: string | undefined;
  try {
    for (let count = 1; first === undefined; count++) {
      await send(drop('late-0', `the packet ${count}`, { namespace: shop }));
      first = await Promise.race([shown, delay(200, undefined)]);
    }
    expect(first).toMatch(new RegExp(` 1  ${shop}/late-0 +the packet \\d+$`));
  } finally {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid);
    await ended;
  }
});

function by(program: string): Pick<CoreEvent, 'source' | 'reportingComponent'> {
  return { source: { component: program }, reportingComponent: program };
}

async function send(event: CoreEvent): Promise<void> {
  const place = `/api/v1/namespaces/${event.metadata.namespace}/events`;
  const { status, body } = await controlPlane.request('POST', place, { body: event });
  if (status !== 201) throw new Error(`an Event was refused: ${status} ${JSON.stringify(body)}`);
}

function drops(args: readonly string[], config?: string): Promise<CommandResult> {
  return shell.kubectl(['drops', ...args], config);
}
