import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Check } from '../../src/cli/doctor/report.ts';
import { bundle } from './bundle.ts';
import { run } from './network/command.ts';
import { outcomeOf } from './outcome.ts';

/**
 * doctor's report on the rules of this machine's kernel. For a Pod with a real agent see cluster/drops.test.ts, for the
 * test Event cluster/quickstart.test.ts.
 */

const netns = `knt-doctor-${randomBytes(3).toString('hex')}`;
const inside = ['netns', 'exec', netns];

beforeAll(() => run('ip', ['netns', 'add', netns]));
afterAll(() => run('ip', ['netns', 'delete', netns]));

/** The checks by name. */
async function checks(): Promise<Record<string, Check>> {
  // There is no API server.
  const env = { PATH: process.env['PATH'], KUBECONFIG: '/nonexistent', NODE_NAME: 'doctor-node', SOURCES: 'kernel' };
  const command = [...inside, process.execPath, bundle, 'doctor', '--output', 'json'];
  const { stdout } = await outcomeOf(spawn('ip', command, { env }));
  const report = JSON.parse(stdout) as { checks: Check[] };
  return Object.fromEntries(report.checks.map((check) => [check.name, check]));
}

test('doctor reports that there are no rules', async () => {
  const found = await checks();
  expect(found['log-rules']).toMatchObject({ status: 'problem' });
  expect(found['iptables-backends']).toMatchObject({ status: 'ok', finding: 'no rules of iptables' });
});

test('doctor finds LOG in both backends of iptables, with their prefixes', async () => {
  for (const [command, chain, prefix] of [
    ['iptables-legacy', 'FORWARD', 'knt-doctor-drop: '],
    ['iptables-legacy', 'FORWARD', 'knt-doctor: '],
    ['ip6tables-nft', 'INPUT', 'knt-nft-drop '],
  ] as const)
    await run('ip', [...inside, command, '--wait', '-A', chain, '-j', 'LOG', '--log-prefix', prefix]);
  const found = await checks();
  expect(found['log-rules']).toMatchObject({ status: 'ok', finding: expect.stringContaining('3 LOG') as string });
  expect(found['prefix knt-doctor-drop:']).toMatchObject({ status: 'ok' });
  expect(found['prefix knt-doctor:']).toMatchObject({ status: 'warning' });
  expect(found['prefix knt-nft-drop']).toMatchObject({ status: 'ok' });
  expect(found['nf-log-all-netns']).toMatchObject({ status: 'warning' });
  expect(found['iptables-backends']).toMatchObject({ status: 'warning', finding: 'legacy has 2 rules, nft 1 rule' });
});
