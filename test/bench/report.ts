/**
 * `npm run bench -- report`: time, processor time and peak memory of `report` over made rows, and the size of its page.
 *
 *     npm run bench -- report                                200,000 and 1 million rows
 *     npm run bench -- report --rows 200000,10000000      8.5 GB of rows for 10 million, in the folder for temporary files
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { buildBundle } from '../e2e/bundle.ts';
import { writeRows } from '../e2e/report/rows.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { runMeasured } from './measured-run.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '200000,1000000' } } });
const folder = scratchFolder('bench');
await buildBundle();
const table = [['rows', 'NDJSON', 'time', 'processor time', 'memory, peak', 'page']];
for (const rows of values.rows.split(',').map(Number)) {
  const [file, page] = [join(folder, 'rows.ndjson'), join(folder, 'page.html')];
  writeRows(file, rows);
  const { seconds, cpu, peak } = await runMeasured(['report', file], { output: page });
  table.push([
    rows.toLocaleString('en-US'),
    `${(statSync(file).size / 1e9).toFixed(2)} GB`,
    `${seconds.toFixed(1)} s`,
    `${cpu.toFixed(1)} s`,
    `${peak} MB`,
    `${(statSync(page).size / 1e6).toFixed(2)} MB`,
  ]);
  console.error(table.at(-1)?.join('  '));
}
console.log(`\n${alignColumns(table).join('\n')}`);
