import { expect, test } from 'vitest';
import { type CheckRow, runChecks } from '../../../src/cli/doctor/doctor.ts';
import type { FactLookups } from '../../../src/cli/doctor/facts.ts';
import { answersOf, type Check } from '../../../src/cli/doctor/report.ts';
import { nine } from '../../builders.ts';
import { fakeApi, refused } from './fake.ts';
import { ciliumEventsOf, quietCiliums, ruleNamesOf } from './sentences.ts';

const run = (facts: Partial<FactLookups>, rows: readonly CheckRow[]): Promise<Check[]> =>
  runChecks(facts as FactLookups, () => ({ now: nine }) as never, rows);

test('a check gets its facts and the time; findings come in the order of the rows', async () => {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const facts = { nodes: promise, pods: Promise.resolve([]).finally(() => resolve(['node-a'])) };
  const checks = await run(facts, [
    { name: 'first', check: ({ nodes, now }) => answersOf(`first ${nodes[0]} ${now}`).ok('') },
    { name: 'b', check: () => [answersOf('second').ok(''), answersOf('third').ok('')] },
  ]);
  expect(checks.map(({ name }) => name)).toEqual([`first node-a ${nine}`, 'second', 'third']);
});

test('a check that throws or lacks facts is unknown; the others have their result', async () => {
  const pods = Promise.reject(new Error('no pods'));
  const rows: CheckRow[] = [
    { name: 'a', check: (known) => expect.unreachable(JSON.stringify(known.pods)) },
    {
      name: 'b',
      check: () => {
        throw new Error('no luck');
      },
    },
    { name: 'c', check: () => answersOf('c').ok('') },
  ];
  await expect(run({ pods, nodes: Promise.resolve([]) }, rows)).resolves.toMatchObject([
    { name: 'a', status: 'unknown', finding: expect.stringMatching(/: no pods$/) as string },
    { name: 'b', status: 'unknown', finding: expect.stringMatching(/: no luck$/) as string },
    { name: 'c', status: 'ok' },
  ]);
});

test.each(quietCiliums)('if Cilium is not known to write Events, it has no line (%#)', async (api) => {
  await expect(ciliumEventsOf(api)).resolves.toEqual([]);
});

test.each([403, 404])(
  'without Antrea, or the right to list its policies, names of rules have no line (%i)',
  async (status) => {
    await expect(ruleNamesOf(fakeApi(() => refused(status)))).resolves.toEqual([]);
  },
);
