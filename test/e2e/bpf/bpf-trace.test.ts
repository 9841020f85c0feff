import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { type AgentRig, createAgentRig, nodeObject, podObject, sumOf, untilMetric } from '../agent-rig.ts';
import { connect } from '../control-plane/connection.ts';
import { createInQuietHours } from '../quiet-hours.ts';

/** The agent reads the output of a BPF program on this kernel, as Calico's eBPF data plane does for `action: Log`. */

const controlPlane = connect(inject('controlPlane'));
const node = 'bpf-node';
let rig: AgentRig;
let tracefs: string;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  tracefs = rig.newFolder();
  execFileSync('mount', ['-t', 'tracefs', 'tracefs', tracefs]);
  await createInQuietHours(controlPlane, [nodeObject(node, '192.168.84.1')]);
});
afterEach(() => rig.killAll());
afterAll(async () => {
  await rig.killAll();
  execFileSync('umount', [tracefs]);
});

const instance = (): string => join(tracefs, 'instances/kube-netfilter-tailer');
const env = (): Record<string, string> => ({
  NODE_NAME: node,
  SOURCES: `bpf-trace:${tracefs}`,
  STATE_DIR: rig.newFolder(),
});

function print(...lines: string[]): void {
  execFileSync('python3', [join(import.meta.dirname, 'print.py')], { input: lines.join('\n') });
}

async function pods(namespace: string, net: number): Promise<(port: number) => string> {
  const [web, db] = [`10.84.${net}.2`, `10.84.${net}.3`];
  await createInQuietHours(controlPlane, [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    podObject({ namespace, name: 'web', node, addresses: [web] }),
    podObject({ namespace, name: 'db', node, addresses: [db] }),
  ]);
  const [device = ''] = interfaceNames(namespace, 'db');
  return (port) => `${device}-I: policy DENIED  proto 6 src ${web}:${port} dest ${db}:5432`;
}

test('packets denied by Calico have Events on both Pods, allowed packets have none, and nothing is left after a stop', async () => {
  const denied = await pods('bpf-drops', 1);
  const agent = rig.start(env());
  await agent.untilReady();
  await expect.poll(() => existsSync(instance())).toBe(true);
  print(denied(40_001), denied(40_002), denied(40_003).replace('DENIED ', 'ALLOWED'), 'a line of another program');
  const events = await rig.untilEvents('bpf-drops', (all) => sumOf(all, 'db') === 2 && sumOf(all, 'web') === 2);
  expect(events.map(({ message }) => message).join('\n')).toContain('on port 5432/TCP');
  agent.signal('SIGTERM');
  await agent.untilExit();
  expect(existsSync(instance())).toBe(false);
});

test('lines printed after an agent was killed are read by the next one', async () => {
  const denied = await pods('bpf-kill', 2);
  const settings = env();
  const first = rig.start(settings);
  await first.untilReady();
  await expect.poll(() => existsSync(instance())).toBe(true);
  print(denied(40_001));
  await rig.untilEvents('bpf-kill', (all) => sumOf(all, 'db') === 1);
  await first.kill();
  // Another peer makes another Event: the existing one is due again only half a minute later.
  print(...[40_002, 40_003].map((port) => denied(port).replace('src 10.84.2.2', 'src 192.0.2.7')));
  await rig.start(settings).untilReady();
  const events = await rig.untilEvents('bpf-kill', (all) => sumOf(all, 'db') === 3);
  expect(sumOf(events, 'db')).toBe(3);
});

test('lines that the kernel has overwritten are counted as lost', async () => {
  mkdirSync(instance(), { recursive: true });
  const denied = await pods('bpf-lost', 3);
  const agent = rig.start(env());
  await agent.untilReady();
  await expect.poll(() => existsSync(instance())).toBe(true);
  agent.signal('SIGSTOP');
  print(...Array.from({ length: 25_000 }, (_, index) => denied(1024 + index)));
  agent.signal('SIGCONT');
  await untilMetric(agent, /^kube_netfilter_tailer_lost_records_total\{[^}]*\} [1-9]\d*$/m);
});
