import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { printable, printableJson } from '../../base/platform/printable.ts';
import { aggregate, missingIn, pairTables } from './aggregate/aggregate.ts';
import { type Engine, openEngine } from './engine.ts';
import { type AuditReport, type ChangedPair, type OmittedRows, ReportError, type ReportOptions } from './model.ts';
import { pageHtml } from './page/page.ts';
import { readEvents } from './read/events.ts';
import { type ReadResult, readRows } from './read/read-rows.ts';
import { csvHead, csvLine, markdownText, tableText } from './texts/outputs.ts';
import { createWorkFolder } from './read/files.ts';

export interface ReportStreams {
  stdin: Readable;
  out: (text: string) => void;
  err: (text: string) => void;
}

/** `program`: for messages. Resolves to the exit status: 0; 1 if a file or row could not be read; 2 without a report. */
export async function runReport(
  options: Omit<ReportOptions, 'now'>,
  streams: ReportStreams,
  program = 'kube-netfilter-tailer',
): Promise<0 | 1 | 2> {
  try {
    if (options.db !== undefined && existsSync(options.db))
      throw new ReportError(`--db ${options.db}: is there already; name a new file, or remove it`);
    return (await printReport({ ...options, now: Date.now() }, streams, program)) ? 0 : 1;
  } catch (error) {
    if (!(error instanceof ReportError)) throw error;
    streams.err(`${program}: ${printable(error.message)}\n`);
    return 2;
  }
}

/** Resolves to whether all files and rows could be read. Rejects with a `ReportError` that says what to do. */
export async function printReport(options: ReportOptions, streams: ReportStreams, program: string): Promise<boolean> {
  const { path: folder, remove } = createWorkFolder();
  try {
    const engine = await openEngine(options.db ?? join(folder, 'report.duckdb'), join(folder, 'spilled'));
    try {
      return await print(engine, folder, options, streams, program);
    } finally {
      engine.close();
    }
  } finally {
    remove();
  }
}

async function print(
  engine: Engine,
  folder: string,
  options: ReportOptions,
  streams: ReportStreams,
  program: string,
): Promise<boolean> {
  const { baseline, includeNoise, policy, now, output } = options;
  const hasBaseline = baseline.length > 0;
  const read = async (table: string, named: readonly string[]): Promise<ReadResult> => {
    const reading = await readRows(engine, table, { named, stdin: () => streams.stdin, folder });
    const { fileProblems, rowProblems } = reading;
    const isRefused = reading.rows === 0 && options.mayBeEmpty !== true;
    for (const problem of [...fileProblems, ...(isRefused ? rowProblems.slice(0, 1) : rowProblems)])
      streams.err(`${program}: ${printable(problem)}\n`);
    if (isRefused) throw new ReportError(noRowsText(named, reading));
    return reading;
  };
  const rows = await read('flows', options.rows);
  const before = hasBaseline ? await read('baseline', baseline) : undefined;
  const reported = readEvents(options.events);
  for (const problem of reported.problems) streams.err(`${program}: ${printable(problem)}\n`);
  const readings = before === undefined ? [rows] : [rows, before];
  const problems = readings.flatMap(({ fileProblems, rowProblems }) => fileProblems.concat(rowProblems));
  problems.push(...reported.problems);
  // Sums take less memory if DuckDB need not keep the order of rows, which only reading needs.
  await engine.run('SET preserve_insertion_order = false');
  const report: AuditReport = {
    ...(await aggregate(engine, { includeNoise, policy, now, hasBaseline })),
    incidents: reported.incidents,
    events: reported.events,
    ...leftOutOf(rows),
    leftOutOfBaseline: before && leftOutOf(before),
    problems,
  };
  await write(engine, report, output, streams.out);
  return problems.length === 0;
}

function leftOutOf({ duplicates, broken, refused }: ReadResult): OmittedRows {
  return { duplicates, broken, refused };
}

function noRowsText(named: readonly string[], { files, broken, refused }: ReadResult): string {
  const what = named.join(', ');
  if (refused > 0) return `${what}: no row can be read`;
  const lines = `${broken} ${broken === 1 ? 'line' : 'lines'}`;
  const wrong = broken > 0 ? `is no audit: none of ${lines} is a flow record` : 'has no rows';
  const reason = files === 0 && broken === 0 ? 'nothing was read' : `${what}: ${wrong}`;
  return `${reason}. To make rows of saved logs: ${makeRows}. The agent's: docs/audit.md`;
}

const makeRows = 'kube-netfilter-tailer replay --pods cluster.json --output audit kern.log > audit.ndjson';

async function write(
  engine: Engine,
  report: AuditReport,
  output: ReportOptions['output'],
  out: (text: string) => void,
): Promise<void> {
  switch (output) {
    case 'html':
      out(await pageHtml(engine, report));
      break;
    case 'table':
      out(tableText(report));
      break;
    case 'markdown':
      out(markdownText(report));
      break;
    case 'csv':
      out(csvHead);
      for await (const pairs of pairsOf(engine, report)) out(pairs.map(csvLine).join(''));
      break;
    default:
      await writeJson(engine, report, out);
  }
}

/** Pairs that only the baseline has come last. */
async function* pairsOf(engine: Engine, report: AuditReport): AsyncIterable<ChangedPair[]> {
  const { rows, baseline } = pairTables;
  if (report.changes === undefined) {
    yield* engine.batches<ChangedPair>(`SELECT * EXCLUDE (denied), '' AS change FROM ${rows} ORDER BY place`);
    return;
  }
  yield* engine.batches<ChangedPair>(
    `SELECT * EXCLUDE (denied), CASE WHEN ${missingIn(baseline, rows)} THEN 'new' ELSE '' END AS change FROM ${rows} ORDER BY place`,
  );
  yield* engine.batches<ChangedPair>(
    `SELECT * EXCLUDE (denied), 'gone' AS change FROM ${baseline} WHERE ${missingIn(rows, baseline)} ORDER BY place`,
  );
}

/** Writes the object in parts, because it contains all pairs. */
async function writeJson(engine: Engine, report: AuditReport, out: (text: string) => void): Promise<void> {
  const { top: _, changes, ...rest } = report;
  const head = printableJson(
    JSON.stringify({ 'report.version': '1.0', ...rest, baseline: changes?.baseline, policyChanges: changes?.policies }),
  );
  out(`${head.slice(0, -1)},"pairs":[`);
  let separator = '\n';
  for await (const pairs of pairsOf(engine, report))
    for (const pair of pairs) {
      out(separator + printableJson(JSON.stringify(pair)));
      separator = ',\n';
    }
  out('\n]}\n');
}
