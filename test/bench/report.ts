/**
 * `npm run bench -- report`: time, processor time and peak memory of `report` over made rows, and the size of its page.
 *
 *     npm run bench -- report                                200,000 and 1 million rows
 *     npm run bench -- report --rows 200000,10000000      8.5 GB of rows for 10 million, in the folder for temporary files
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/events/describe.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { writeRows } from '../e2e/report/rows.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';

/** The program writes what it has used to descriptor 3 when it ends. */
const usage = `import fs from 'node:fs'; process.on('exit', () => fs.writeSync(3, JSON.stringify(process.resourceUsage())));`;

const { values } = parseArgs({ options: { rows: { type: 'string', default: '200000,1000000' } } });
const folder = scratchFolder('bench');
await buildBundle();
const table = [['rows', 'NDJSON', 'time', 'processor time', 'memory, peak', 'page']];
for (const rows of values.rows.split(',').map(Number)) {
  const file = join(folder, 'rows.ndjson');
  writeRows(file, rows);
  const { seconds, cpu, peak, page } = await measure(file);
  const size = `${(statSync(file).size / 1e9).toFixed(2)} GB`;
  table.push([
    rows.toLocaleString('en-US'),
    size,
    `${seconds.toFixed(1)} s`,
    `${cpu.toFixed(1)} s`,
    `${peak} MB`,
    `${page} MB`,
  ]);
  console.error(table.at(-1)?.join('  '));
}
console.log(`\n${alignColumns(table).join('\n')}`);

async function measure(rows: string) {
  const start = performance.now();
  const page = join(folder, 'page.html');
  const options = ['--import', `data:text/javascript,${encodeURIComponent(usage)}`];
  const run = spawn(process.execPath, [...options, bundle, 'report', rows], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  });
  const [used, [status]] = await Promise.all([
    text(run.stdio[3] as Readable),
    once(run, 'exit') as Promise<[number]>,
    pipeline(run.stdout as Readable, createWriteStream(page)),
  ]);
  if (status !== 0) throw new Error(`report ended with ${status}`);
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(used) as NodeJS.ResourceUsage;
  return {
    seconds: (performance.now() - start) / 1000,
    cpu: (userCPUTime + systemCPUTime) / 1e6,
    peak: Math.round(maxRSS / 1024),
    page: (statSync(page).size / 1e6).toFixed(2),
  };
}
