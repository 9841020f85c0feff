/**
 * `npm run bench:state`: what it costs to have on disk what Events say, in a storm on 390 Pods: everything written at once (as
 * before the log of changes), what changed appended and synced, and the same changes in SQLite, one after the other in one run.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { alignColumns } from '../../src/events/describe.ts';
import type { StateChange } from '../../src/model/state-change.ts';
import { createSeriesTable } from '../../src/series/table.ts';
import { createSegment, encodeBatch } from '../../src/state/segments.ts';
import { externalEnd, finding, flow, nine, podRef } from '../builders.ts';

const pods = 390;
const rounds = 20;
const packetsBetween = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
try {
  const table = createSeriesTable({ limits: { perObject: 8, total: 5000 } });
  let packets = 0;
  storm(400_000);
  const segment = await createSegment(folder, 1);
  const database = createDatabase(join(folder, 'state.db'));
  const first = take();
  await segment.append(encodeBatch(first.map((change) => JSON.stringify(change))));
  database.write(first);

  const costs = { all: [] as Cost[], log: [] as Cost[], sqlite: [] as Cost[] };
  for (let round = 0; round < rounds; round++) {
    storm(packetsBetween);
    costs.all.push(await whole());
    const changes = take();
    costs.log.push(
      await measure(async () => {
        const blocked = performance.now();
        const batch = encodeBatch(changes.map((change) => JSON.stringify(change)));
        const written = segment.append(batch);
        return [batch.length, performance.now() - blocked, written];
      }),
    );
    costs.sqlite.push(
      await measure(async () => {
        const blocked = performance.now();
        const bytes = database.write(changes);
        return [bytes, performance.now() - blocked, Promise.resolve()];
      }),
    );
  }
  const rows = [['', 'bytes', 'event loop blocked', 'until it is on disk']];
  for (const [name, each] of [
    ['everything, as a file', costs.all],
    ['what changed, appended', costs.log],
    ['what changed, SQLite', costs.sqlite],
  ] as const)
    rows.push([
      name,
      Math.round(median(each.map(({ bytes }) => bytes))).toLocaleString('en-US'),
      `${median(each.map(({ blocked }) => blocked)).toFixed(1)} ms, at most ${Math.max(...each.map(({ blocked }) => blocked)).toFixed(1)}`,
      `${median(each.map(({ total }) => total)).toFixed(1)} ms`,
    ]);
  console.log(alignColumns(rows).join('\n'));
  console.log(
    `${table.sizes.series} problems; medians of ${rounds} rounds, ${packetsBetween.toLocaleString('en-US')} packets between`,
  );
  await segment.close();

  function storm(count: number): void {
    for (const end = packets + count; packets < end; packets++) {
      const name = `web-${packets % pods}`;
      const address = `203.0.${(packets >> 8) & 255}.${packets & 255}`;
      const port = 1024 + ((packets * 7) % 60_000);
      table.count(
        finding({
          identity: `${name} ${address} ${port}`,
          regarding: podRef(name),
          details: flow({ port, peer: externalEnd({ address }) }),
        }),
        nine + packets / 100,
      );
    }
  }

  function take(): StateChange[] {
    return [...table.takeChanges(), ['set', 'series', table.rest()]];
  }

  async function whole(): Promise<Cost> {
    return await measure(async () => {
      const blocked = performance.now();
      const body = JSON.stringify([...table.entries(), table.rest()]);
      const took = performance.now() - blocked;
      return [body.length, took, writeFile(join(folder, 'state.json'), body)];
    });
  }
} finally {
  rmSync(folder, { recursive: true });
}

interface Cost {
  bytes: number;
  /** Milliseconds, as `total`. */
  blocked: number;
  total: number;
}

async function measure(
  write: () => Promise<readonly [bytes: number, blocked: number, written: Promise<void>]>,
): Promise<Cost> {
  const began = performance.now();
  const [bytes, blocked, written] = await write();
  await written;
  return { bytes, blocked, total: performance.now() - began };
}

async function writeFile(path: string, body: string): Promise<void> {
  const file = await open(path, 'w');
  await file.writeFile(body);
  await file.datasync();
  await file.close();
}

/** One row for each key; `write` returns when it is on disk. */
function createDatabase(path: string): { write: (changes: readonly StateChange[]) => number } {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE state (key TEXT, change TEXT)');
  const insert = database.prepare('INSERT INTO state VALUES (?, ?)');
  return {
    write(changes) {
      let bytes = 0;
      database.exec('BEGIN');
      for (const change of changes) {
        const text = JSON.stringify(change);
        insert.run(change[1], text);
        bytes += text.length;
      }
      database.exec('COMMIT');
      return bytes;
    },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
