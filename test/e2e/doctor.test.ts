import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Check } from '../../src/commands/doctor/report.ts';
import { type AgentRig, createAgentRig, dropLine, nodeObject, podObject, untilMetric } from './agent-rig.ts';
import { bundle } from './bundle.ts';
import { type Connection, connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { run } from './network/command.ts';
import { outcomeOf } from './outcome.ts';

const node = 'doctor-node';
const namespace = 'doctor-e2e';

let controlPlane: Connection;
let rig: AgentRig;

beforeAll(async () => {
  controlPlane = connect(inject('controlPlane'));
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [
      nodeObject(node, '192.0.2.90'),
      podObject({ namespace, name: 'agent-x', node, addresses: ['10.90.1.1'] }),
      podObject({ namespace, name: 'web-0', node, addresses: ['10.90.1.2'] }),
    ],
  });
});
afterEach(() => rig.killAll());

/** Returns what the bundle prints; `before` is how it is started. */
async function doctor(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  before: readonly string[] = [],
) {
  const [command = '', ...rest] = [...before, process.execPath, bundle, 'doctor', ...args];
  const options = {
    env: {
      PATH: process.env['PATH'] ?? '',
      KUBECONFIG: rig.kubeconfig,
      NODE_NAME: node,
      STATE_DIR: rig.newFolder(),
      METRICS_ADDRESS: '127.0.0.1:1',
      ...env,
    },
  };
  const { code, stdout } = await outcomeOf(spawn(command, rest, options));
  return { status: code, out: stdout };
}

/** The checks by name. */
async function checks(...given: Parameters<typeof doctor>): Promise<Record<string, Check>> {
  const [args, ...rest] = given;
  const { out } = await doctor(['--output', 'json', ...args], ...rest);
  const report = JSON.parse(out) as { checks: Check[] };
  return Object.fromEntries(report.checks.map((check) => [check.name, check]));
}

test('the account of deploy/base has all that is needed', async () => {
  const found = await checks([]);
  expect(found['settings']).toMatchObject({ status: 'ok' });
  expect(found['api-server']).toMatchObject({ status: 'ok', finding: expect.stringContaining('(v1.') as string });
  expect(found['clock']).toMatchObject({ status: 'ok' });
  expect(found['node']).toMatchObject({ status: 'ok', finding: `${node} is there` });
  expect(found['rights']).toMatchObject({ status: 'ok', finding: 'all 13 are granted' });
  expect(found['calico']).toMatchObject({ status: 'ok' });
});

test('a test Event is written on the own Pod, as kubectl shows it', async () => {
  const { status, out } = await doctor(['--send-test-event'], { POD_NAME: 'agent-x', POD_NAMESPACE: namespace });
  expect({ status, out }).toMatchObject({
    status: 0,
    out: expect.stringContaining(`written on Pod ${namespace}/agent-x`) as string,
  });
  const described = await controlPlane.kubectl(['describe', 'pod', 'agent-x', '-n', namespace]);
  expect(described.stdout).toMatch(/Normal +TestEvent +\S+ +kube-netfilter-tailer +This is a test from doctor-node/);
  // The text has the command that it prints.
  const [, look = ''] = /^ {2}kubectl (.+)$/m.exec(out) ?? [];
  const shown = await controlPlane.kubectl(look.split(' '));
  expect(shown.stdout).toMatch(/Normal +TestEvent +pod\/agent-x/);
});

test('doctor sees a running agent, its state, and the drop that it has published', async () => {
  const log = rig.newLog();
  const STATE_DIR = rig.newFolder();
  const settings = { NODE_NAME: node, SOURCES: `file:${log}`, STATE_DIR };
  const agent = rig.start(settings);
  await agent.untilReady();
  appendFileSync(log, dropLine('203.0.113.9', '10.90.1.2', 443));
  await rig.untilEvents(namespace, (all) => all.some(({ reason }) => reason === 'PacketDrop'), 'web-0');
  await untilMetric(agent, /event_writes_total\{verb="create",result="ok"\} 1$/m);
  const { metricsAddress } = await agent.untilLog((entry) => typeof entry['metricsAddress'] === 'string');
  const found = await checks([], { ...settings, METRICS_ADDRESS: String(metricsAddress) });
  expect(found['agent']).toMatchObject({
    status: 'ok',
    finding: expect.stringMatching(
      /: 1 line read, 1 drop, 1 write of an Event, last drop \d+s ago, last Event \d+s ago$/,
    ) as string,
  });
  expect(found['state']?.finding).toMatch(/last drop \d+s ago/);
  expect(found[`source file:${log}`]).toMatchObject({
    status: 'ok',
    finding: expect.stringMatching(/last drop \d+s ago \(of 1 line of the kernel/) as string,
  });
  expect(found['prefix calico-drop:']).toMatchObject({ finding: expect.stringContaining('1 line lately') as string });
});

describe("rules of this machine's kernel", () => {
  const netns = `knt-doctor-${randomBytes(3).toString('hex')}`;
  const inside = ['ip', 'netns', 'exec', netns];
  const iptables = (command: string, ...args: string[]): Promise<unknown> =>
    run('ip', ['netns', 'exec', netns, command, '--wait', ...args]);

  beforeAll(() => run('ip', ['netns', 'add', netns]));
  afterAll(() => run('ip', ['netns', 'delete', netns]));

  test('doctor says that there are no rules', async () => {
    const found = await checks([], { SOURCES: 'kernel' }, inside);
    expect(found['log-rules']).toMatchObject({ status: 'problem' });
    expect(found['iptables-backends']).toMatchObject({ status: 'ok', finding: 'no rules of iptables' });
  });

  test('LOG in iptables-legacy, found with its prefix', async () => {
    await iptables('iptables-legacy', '-A', 'FORWARD', '-j', 'LOG', '--log-prefix', 'knt-doctor-drop: ');
    await iptables('iptables-legacy', '-A', 'FORWARD', '-j', 'LOG', '--log-prefix', 'knt-doctor: ');
    const found = await checks([], { SOURCES: 'kernel' }, inside);
    expect(found['log-rules']).toMatchObject({ status: 'ok', finding: expect.stringContaining('2 LOG') as string });
    expect(found['prefix knt-doctor-drop:']).toMatchObject({ status: 'ok' });
    expect(found['prefix knt-doctor:']).toMatchObject({ status: 'warning' });
    expect(found['nf-log-all-netns']).toMatchObject({ status: 'warning' });
  });

  test('doctor sees rules in both backends', async () => {
    await iptables('ip6tables-nft', '-A', 'INPUT', '-j', 'LOG', '--log-prefix', 'knt-nft-drop ');
    const found = await checks([], { SOURCES: 'kernel' }, inside);
    expect(found['prefix knt-nft-drop']).toMatchObject({ status: 'ok' });
    expect(found['iptables-backends']).toMatchObject({ status: 'warning', finding: 'legacy has 2 rules, nft 1 rule' });
  });
});
