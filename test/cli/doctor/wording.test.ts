import { expect, test, vi } from 'vitest';
import { noApi } from '../../../src/cli/doctor/api.ts';
import { type CheckRow, runChecks } from '../../../src/cli/doctor/doctor.ts';
import type { FactLookups } from '../../../src/cli/doctor/facts.ts';
import { answersOf, type Check } from '../../../src/cli/doctor/report.ts';
import { sendTestEvent, type TestEventOptions } from '../../../src/cli/doctor/test-event.ts';
import { nine } from '../../builders.ts';
import { expectLines } from '../../expected-file.ts';
import { answered, fakeApi, refused } from './fake.ts';
import { allSentences } from './sentences.ts';

const now = (): number => nine;

const check: CheckRow['check'] = ({ pods, nodes }) => expect.unreachable(`${pods?.length} ${nodes.length}`);

const run = (name: string, pods: Promise<never>): Promise<Check[]> =>
  runChecks({ pods, nodes: Promise.resolve([]) } as unknown as FactLookups, () => ({}) as never, [{ name, check }]);

async function failures(): Promise<Check[]> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = run('a slow check', new Promise(() => {}));
  vi.advanceTimersByTime(5000);
  vi.useRealTimers();
  return [...(await run('a check that fails', Promise.reject(new Error('no luck')))), ...(await late)];
}

async function testEvents(): Promise<Check[]> {
  const metadata = { namespace: 'shop', name: 'postgres-0', uid: 'u1', resourceVersion: '5' };
  const cluster = (create = answered({}), items: unknown[] = [{ metadata }]) =>
    fakeApi(({ verb }) => (verb === 'POST' ? create : answered({ items })));
  const denied = 'admission webhook "x" denied the request: no';
  const rows: Partial<TestEventOptions>[] = [
    { api: cluster(), pod: metadata },
    { api: cluster(answered({}), []), pod: metadata },
    { api: cluster(answered({}), []) },
    { api: cluster(), node: '' },
    { api: cluster(refused(403)) },
    { api: cluster(refused(403, denied)) },
    { api: fakeApi(() => refused(403)) },
    { api: fakeApi(() => refused(0)) },
    { api: noApi('no API server is known') },
  ];
  const { ok, problem } = answersOf('--send-test-event');
  const results = await Promise.all(
    rows.map((row) =>
      sendTestEvent({ api: cluster(), node: 'node-b', pod: undefined, ownPod: undefined, now, ...row }),
    ),
  );
  return results.map((result) =>
    result.kind === 'written' ? ok(`${result.on}: ${result.look}`) : problem(result.reason, result.advice),
  );
}

test('every sentence of doctor is in sentences.expected.txt', async () => {
  const checks = [...(await allSentences()), ...(await testEvents()), ...(await failures())];
  const lines = checks.map(
    ({ name, status, finding, advice }) =>
      `${name}, ${status}: ${finding}${advice === undefined ? '' : `\n  → ${advice}`}`,
  );
  await expectLines(import.meta.dirname, 'sentences.expected.txt', [...new Set(lines)]);
});
