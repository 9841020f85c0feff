/**
 * `npm run bench -- state`: what it costs to have on disk what Events say, in a storm on 390 Pods: everything written at once (as
 * before the log of changes), what changed appended and synced, and the same changes in SQLite, one after the other in one run;
 * then the first batch of such a storm, in one piece and line by line; then 25 Events, each saved and written, and as one batch.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pass } from 'node:timers/promises';
import { alignColumns } from '../../src/events/describe.ts';
import { createPublisher } from '../../src/events/publisher.ts';
import { createWriteBudget } from '../../src/events/write-budget.ts';
import type { Series } from '../../src/model/series.ts';
import type { StateChange } from '../../src/model/state-change.ts';
import { createSeriesTable } from '../../src/series/series.ts';
import { createSegment, encodeBatch, type Segment } from '../../src/state/segments.ts';
import { createStateLog } from '../../src/state/state-log.ts';
import { externalEnd, finding, flow, nine, podRef } from '../builders.ts';

const pods = 390;
const rounds = 20;
const packetsBetween = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
const segments: Segment[] = [];
try {
  await compareWays();
  console.log();
  await compareFirstBatches();
  console.log();
  await comparePublishing();
} finally {
  for (const segment of segments) await segment.close();
  rmSync(folder, { recursive: true });
}

async function compareWays(): Promise<void> {
  const storm = createStorm();
  const { table } = storm;
  storm.count(400_000);
  const segment = await newSegment();
  const database = createDatabase(join(folder, 'state.db'));
  database.write(take(table));
  const costs = { all: [] as Cost[], log: [] as Cost[], sqlite: [] as Cost[] };
  for (let round = 0; round < rounds; round++) {
    storm.count(packetsBetween);
    costs.all.push(await measure(() => writeFile(JSON.stringify([...table.entries(), table.rest()]))));
    const changes = take(table);
    costs.log.push(await measure(() => append(segment, encodeBatch(changes))));
    costs.sqlite.push(await measure(async () => database.write(changes)));
  }
  report({
    'everything, as a file': costs.all,
    'what changed, appended': costs.log,
    'what changed, SQLite': costs.sqlite,
  });
  console.log(
    `${table.sizes.series} problems; medians of ${rounds} rounds, ${packetsBetween.toLocaleString('en-US')} packets between`,
  );
}

async function compareFirstBatches(): Promise<void> {
  const costs = { piece: [] as Cost[], lines: [] as Cost[] };
  for (let round = 0; round < rounds; round++) {
    const storm = createStorm();
    const { table } = storm;
    take(table);
    storm.count(100_000);
    const segment = await newSegment();
    costs.piece.push(await measure(() => append(segment, encodeBatch(entriesOf(table), Infinity))));
    costs.lines.push(await measure(() => append(segment, encodeBatch(take(table)))));
  }
  report({ 'first batch, in one piece': costs.piece, 'first batch, line by line': costs.lines });
}

async function comparePublishing(): Promise<void> {
  const rows = [['25 Events that are due, answers after 5 ms', 'syncs', 'until all are written']];
  for (const [name, together] of [
    ['each saved and then written', false],
    ['one batch', true],
  ] as const) {
    const storm = createStorm(Date.now);
    const { table } = storm;
    storm.count(100_000);
    await pass(1100);
    let syncs = 0;
    const log = createStateLog({
      folder: mkdtempSync(join(folder, 'events-')),
      state: { revision: () => table.revision, takeChanges: table.takeChanges, all: table.entries },
      onSaved: () => syncs++,
      onFailed: console.error,
      onLost: console.error,
      create: newSegment,
    });
    await log.keep();
    syncs = 0;
    const began = performance.now();
    if (together) {
      storm.count(1);
      await publish(table, log.keep);
    } else
      for (const series of table.due(Date.now()).slice(0, 25)) {
        // Packets keep coming.
        storm.count(1);
        await log.keep();
        table.published(series, (await write(series)).published);
      }
    rows.push([name, String(syncs), `${(performance.now() - began).toFixed(0)} ms`]);
  }
  console.log(alignColumns(rows).join('\n'));
}

async function publish(table: ReturnType<typeof createSeriesTable>, keep: () => Promise<void>): Promise<void> {
  const all = Promise.withResolvers<void>();
  let written = 0;
  const publisher = createPublisher({
    table,
    keep,
    write,
    onAttempt() {
      if (++written === 25) all.resolve();
    },
    onAbandoned: () => {},
    budget: createWriteBudget(),
    now: Date.now,
  });
  void publisher.run();
  await all.promise;
  await publisher.stop(0);
}

async function write({ count, published }: Series) {
  await pass(5);
  const after = { ...published, count, writes: published.writes + 1, at: Date.now() };
  return { kind: 'written', verb: 'create', packets: count, published: after } as const;
}

function createStorm(now?: () => number) {
  const table = createSeriesTable({ limits: { perObject: 8, total: 5000 }, now });
  let packets = 0;
  return {
    table,
    count(count: number): void {
      for (const end = packets + count; packets < end; packets++) {
        const name = `web-${packets % pods}`;
        const address = `203.0.${(packets >> 8) & 255}.${packets & 255}`;
        const port = 1024 + ((packets * 7) % 60_000);
        table.count(
          finding({
            identity: `${name} ${address} ${port}`,
            regarding: podRef(name, `team-${packets % 10}`),
            details: flow({ port, peer: externalEnd({ address }) }),
          }),
          now?.() ?? nine + packets / 100,
        );
      }
    },
  };
}

function take(table: ReturnType<typeof createSeriesTable>): StateChange[] {
  return [...table.takeChanges(), ['set', 'series', table.rest()]];
}

function entriesOf(table: ReturnType<typeof createSeriesTable>): StateChange[] {
  return [...table.entries(), ['set', 'series', table.rest()]];
}

async function newSegment(where = mkdtempSync(join(folder, 'log-')), number = 1): Promise<Segment> {
  const segment = await createSegment(where, number);
  segments.push(segment);
  return segment;
}

interface Cost {
  bytes: number;
  /** Milliseconds of CPU time: the longest that nothing else could run, whatever else this machine does. */
  blocked: number;
  /** Milliseconds. */
  total: number;
}

/** `save` resolves to the bytes that are on disk then. */
async function measure(save: () => Promise<number>): Promise<Cost> {
  await pass(20);
  let blocked = 0;
  let running = true;
  let last = cpuTime();
  const look = (): void => {
    const now = cpuTime();
    blocked = Math.max(blocked, now - last);
    last = now;
    if (running) setImmediate(look);
  };
  setImmediate(look);
  const began = performance.now();
  const bytes = await save();
  const total = performance.now() - began;
  running = false;
  look();
  return { bytes, blocked, total };
}

function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

function report(costs: Readonly<Record<string, readonly Cost[]>>): void {
  const rows = [['', 'bytes', 'event loop blocked', 'until it is on disk']];
  for (const [name, each] of Object.entries(costs))
    rows.push([
      name,
      Math.round(median(each.map(({ bytes }) => bytes))).toLocaleString('en-US'),
      `${median(each.map(({ blocked }) => blocked)).toFixed(1)} ms, at most ${Math.max(...each.map(({ blocked }) => blocked)).toFixed(1)}`,
      `${median(each.map(({ total }) => total)).toFixed(1)} ms`,
    ]);
  console.log(alignColumns(rows).join('\n'));
}

async function append(segment: Segment, batch: Iterable<Buffer>): Promise<number> {
  const before = segment.size;
  await segment.append(batch);
  return segment.size - before;
}

async function writeFile(body: string): Promise<number> {
  const file = await open(join(folder, 'state.json'), 'w');
  await file.writeFile(body);
  await file.datasync();
  await file.close();
  return body.length;
}

/** One row for each change; `write` returns the bytes when they are on disk. */
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
        insert.run(change[1] ?? '', text);
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
