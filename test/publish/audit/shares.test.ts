/** One Namespace does not displace the rows of another. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAuditQueue } from '../../../src/publish/audit/queue.ts';
import { namespaceOfRecord, namespaceOfRow, rowText } from '../../../src/publish/audit/record.ts';
import { flowOf } from '../../../src/publish/audit/flow.ts';
import { ends, externalEnd, observation, podEnd, podRef } from '../../builders.ts';
import { forAll } from '../../for-all.ts';

const most = 1000;
const queueOf = (restored?: Parameters<typeof createAuditQueue>[0]['restored']) =>
  createAuditQueue({
    sinks: ['file', 'otlp'],
    most,
    restored,
    namespaceOf: (row) => row.split(' ', 1)[0] ?? '',
    now: () => 0,
  });

type Step =
  | { kind: 'add'; namespace: string; size: number }
  | { kind: 'send'; sink: string; rows: number; arrives: boolean }
  | { kind: 'restart' };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        kind: fc.constant('add' as const),
        namespace: fc.constantFrom('evil', 'evil', 'evil', 'batch'),
        size: fc.integer({ min: 10, max: 200 }),
      }),
    },
    fc.record({
      kind: fc.constant('send' as const),
      sink: fc.constantFrom('file', 'otlp'),
      rows: fc.integer({ min: 1, max: 5 }),
      arrives: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('restart' as const) }),
  ),
  { maxLength: 200, size: 'max' },
);

test('whatever others write, each row of a Namespace within its share reaches each sink in order, and each other row arrives or is counted as lost', () => {
  let wereLost = false;
  forAll([steps], { numRuns: 300 }, (program) => {
    let queue = queueOf();
    let number = 0;
    const sent: Record<string, string[]> = { file: [], otlp: [] };
    const lost: Record<string, number> = { file: 0, otlp: 0 };
    const added: string[] = [];
    const add = (namespace: string, size: number): void => {
      const row = `${namespace} ${String(number++).padStart(5, '0')}`.padEnd(size, '.');
      added.push(row);
      queue.add(row, namespace);
      queue.release(queue.newest);
      expect(queue.sizes.bytes).toBeLessThanOrEqual(most);
    };
    const send = (sink: string, rows: number): boolean => {
      const batch = queue.next(sink, rows);
      if (batch === undefined) return false;
      sent[sink]?.push(...batch.rows);
      lost[sink] = (lost[sink] ?? 0) + (batch.lost?.rows ?? 0);
      queue.confirm(sink, batch);
      return true;
    };
    for (const [index, step] of program.entries()) {
      // 16 rows of 20 bytes are less than a third of the room.
      if (index % 13 === 0) add('shop', 20);
      if (step.kind === 'add') add(step.namespace, step.size);
      else if (step.kind === 'send' && step.arrives) send(step.sink, step.rows);
      else if (step.kind === 'send') queue.next(step.sink, step.rows);
      else {
        const rows = [...queue.changes.entries()].map(
          (change) => [change[1].slice('record '.length), String(change[2])] as const,
        );
        queue = queueOf({ state: structuredClone(queue.state), rows });
      }
    }
    // Lost rows at the end are reported only with the next row.
    add('last', 10);
    for (const sink of ['file', 'otlp']) {
      while (send(sink, 100)) expect(queue.sinks[sink]?.behind).toBe(0);
      expect(sent[sink]).toEqual(sent[sink]?.toSorted((a, b) => added.indexOf(a) - added.indexOf(b)));
      expect(sent[sink]?.filter((row) => row.startsWith('shop'))).toEqual(
        added.filter((row) => row.startsWith('shop')),
      );
      expect((sent[sink]?.length ?? 0) + (lost[sink] ?? 0)).toBe(added.length);
      wereLost ||= (lost[sink] ?? 0) > 0;
    }
    expect(queue.sizes).toEqual({ rows: 0, bytes: 0 });
  });
  expect(wereLost).toBe(true);
});

const podOf = (namespace: string) => podEnd({ object: podRef('any', namespace), identity: `Pod/${namespace}/any` });
const [evil, shop] = [podOf('evil'), podOf('shop')];

test.each([
  ['a Pod that sends', { source: evil, destination: shop }, 'evil'],
  ['a Pod that receives from elsewhere', { source: externalEnd(), destination: shop }, 'shop'],
  ['neither', { source: externalEnd(), destination: externalEnd() }, ''],
])('a row takes the room of %s, like its flow', (_, given, expected) => {
  const { namespace, fields } = flowOf({
    observation: observation(),
    ends: ends(given),
    node: 'node-a',
    noise: undefined,
  });
  expect([namespace, namespaceOfRecord(fields), namespaceOfRow(rowText(fields))]).toEqual([
    expected,
    expected,
    expected,
  ]);
});

test("a row that is not a record takes no record's room", () => {
  expect(['', 'null', '7', '{"a":'].map(namespaceOfRow)).toEqual(['', '', '', '']);
});
