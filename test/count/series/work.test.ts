/** What a packet costs when the table is full: counted as work, because times depend on the machine. */
import * as crypto from 'node:crypto';
import { expect, test, vi } from 'vitest';
import type { Finding } from '../../../src/base/model/finding.ts';
import { createSeriesTable, type SeriesTable } from '../../../src/count/series/series.ts';
import { externalEnd, finding, flow, nine, podRef } from '../../builders.ts';

vi.mock(import('node:crypto'), async (original) => {
  const real = await original();
  return { ...real, createHash: vi.fn<typeof real.createHash>(real.createHash) };
});

const total = 5000;

function drop(pod: number, address: string): Finding {
  return finding({
    identity: `drop on ${pod} from ${address}`,
    regarding: podRef(`web-${pod}`),
    related: undefined,
    details: flow({ port: 80, peer: externalEnd({ address, identity: address }) }),
  });
}

function fullTable(of: (pod: number) => Finding): SeriesTable {
  const table = createSeriesTable({ limits: { perObject: 8, total }, now: () => nine });
  for (let pod = 0; pod < total; pod++) table.count(of(pod), nine);
  return table;
}

test("a sweep hashes no object's name again, however many objects there are", () => {
  const table = fullTable((pod) => drop(pod, `203.0.${pod >> 8}.${pod & 255}`));
  vi.mocked(crypto.createHash).mockClear();
  table.count(drop(total, '198.51.100.1'), nine + 2000);
  expect(table.counts.uncounted).toBe(1);
  expect(vi.mocked(crypto.createHash).mock.calls.length).toBeLessThan(10);
});

test('when a peer begins to scan, only its own series are searched', () => {
  let looks = 0;
  const table = createSeriesTable({ limits: { perObject: 8, total }, now: () => nine });
  for (let pod = 100; pod < 600; pod++) {
    const other = drop(pod, `203.0.${pod >> 8}.${pod & 255}`);
    const { details } = other;
    Object.defineProperty(other, 'details', { get: () => (looks++, details), enumerable: true });
    table.count(other, nine);
  }
  looks = 0;
  for (let pod = 0; pod < 9; pod++) table.count(drop(pod, '198.51.100.1'), nine);
  expect(looks).toBe(0);
  const scans = table.due(Infinity).filter((series) => series.finding.regarding.name.length === 'web-0'.length);
  expect(scans.map((series) => series.finding.details.kind)).toEqual(Array.from({ length: 9 }, () => 'scan'));
});
