import { expect, test } from 'vitest';
import { createAudit, readAudit } from '../../../src/publish/audit/audit.ts';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { noNamespace } from '../../../src/publish/audit/privacy.ts';
import type { PolicyFacts } from '../../../src/base/model/policy-answer.ts';
import type { StateChange } from '../../../src/base/platform/keyed-changes.ts';
import { applyChange } from '../../../src/publish/state/read-segments.ts';
import { ends, finding, nine, observation, podEnd, workerEnd } from '../../builders.ts';

/**
 * A receiver that takes each row while the agent never learns of it and is killed: the rows of the next run are
 * compared as text.
 */

const minute = 60_000;

const deniedBy = (policy: string): PolicyFacts => ({
  verdict: 'denied',
  direction: 'ingress',
  decidedBy: [policy],
  count: 1,
  rule: undefined,
  nearest: undefined,
});

function node() {
  const disk = new Map<string, unknown>();
  const received: string[] = [];
  let now = nine;

  /** An agent that has these facts about policies, and continues from what earlier agents have kept. */
  function run(facts: PolicyFacts | undefined) {
    const audit = createAudit({
      node: 'node-a',
      cluster: 'prod',
      interval: minute,
      sinks: [
        {
          name: 'otlp',
          mostRows: 100,
          send(rows) {
            received.push(...rows);
            return Promise.reject(new Error('the answer was lost'));
          },
          close: () => Promise.resolve(),
        },
      ],
      queueSize: 1_000_000,
      restored: readAudit(structuredClone(disk)),
      privacy: { peers: 'shown', bits: { ipv4: 32, ipv6: 128 }, isHidden: noNamespace, labels: [] },
      policiesOn: () => facts,
      clock: { now: () => now, toWall: (time) => time },
      report: { sent: () => {}, failed: () => {} },
    });
    const keep = (): Promise<void> => {
      const changes: StateChange[] = [...audit.kept.takeChanges(), ['set', 'audit', audit.kept.progress()]];
      for (const change of JSON.parse(JSON.stringify(changes)) as StateChange[]) applyChange(change, disk);
      return Promise.resolve();
    };
    audit.start();
    return {
      drop: (): void => {
        const found = ends({ source: workerEnd(1), destination: podEnd() });
        const packet = () => ({
          observation: observation(),
          ends: found,
          node: 'node-a',
          noise: undefined,
          findings: [finding()],
        });
        audit.count({}, packet, 1, now);
      },
      keep,
      /** Ends the interval; its rows are sent as soon as they are kept. */
      async endInterval(kept: () => Promise<void> = keep): Promise<void> {
        now += minute + 6000;
        // Packets counted since the last look stay open.
        await audit.round(keep);
        await audit.round(kept);
      },
      /** Ends it like SIGKILL: nothing is kept or sent any more. */
      kill: (): Promise<void> => audit.stop(0),
    };
  }

  return { run, received };
}

const recordsIn = (rows: readonly string[]): FlowRecord[] => rows.map((row) => JSON.parse(row) as FlowRecord);

test.each([
  ['nothing is known of policies any more', 'NetworkPolicy shop/web', undefined],
  ['another policy is known by then', 'NetworkPolicy shop/web', 'NetworkPolicy shop/later'],
  ['policies come to be known after it was sent', undefined, 'NetworkPolicy shop/web'],
])('a row that is sent again after a kill has the same text, if %s', async (_, ...policies) => {
  const { run, received } = node();
  for (const [runs, policy] of policies.entries()) {
    const before = received.length;
    const agent = run(policy === undefined ? undefined : deniedBy(policy));
    if (runs === 0) agent.drop();
    await agent.endInterval();
    await expect.poll(() => received.length).toBeGreaterThan(before);
    await agent.kill();
  }
  expect(new Set(received).size).toBe(1);
  expect(recordsIn(received)[0]).toMatchObject({ 'network.packets': 1 });
  expect(recordsIn(received)[0]?.['policy.decided_by']).toBe(policies[0]);
});

test('a row that was not on disk at the kill was sent to no receiver, so the next run may leave out policies', async () => {
  const { run, received } = node();
  const before = run(deniedBy('NetworkPolicy shop/web'));
  before.drop();
  await before.keep();
  void before.endInterval(() => new Promise(() => {}));
  await before.kill();
  expect(received).toEqual([]);
  const after = run(deniedBy('NetworkPolicy shop/web'));
  await after.endInterval();
  await expect.poll(() => received.length).toBeGreaterThan(0);
  await after.kill();
  expect(new Set(received).size).toBe(1);
  expect(recordsIn(received)[0]).toMatchObject({ 'network.packets': 1 });
  expect(recordsIn(received)[0]).not.toHaveProperty(['policy.verdict']);
});
