/**
 * `npm run bench`: lines a second through the whole pipeline of the built bundle, by the clock and by processor
 * time, compared with `grep -c` on the same file in the same run; and peak memory. Only ratios count, not the
 * machine's speed.
 *
 *     npm run bench             200 MB logs, 5 runs each
 *     npm run bench -- --full   with a 1 GB log as well, for the memory
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { alignColumns } from '../../src/cli/describe.ts';
import { buildBundle } from '../e2e/bundle.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { type LogKind, writeLog } from './lines.ts';
import { type MeasuredRun, runMeasured } from './measured-run.ts';
import { writeCluster } from './pods.ts';
import { median } from './quantile.ts';

const runs = 5;
const podsOfNode = 110;

await preparePrograms('measuring');
const folder = scratchFolder('bench');
await buildBundle();
const cluster = join(folder, 'cluster.json');
writeCluster(cluster, podsOfNode);
const cases: [LogKind, number][] = [
  ['1 drop in 10', 200],
  ['drops only', 200],
  ['each drop of another flow', 200],
  ...(process.argv.includes('--full') ? [['1 drop in 10', 1000] as [LogKind, number]] : []),
];
const rows = [['log', 'lines', 'lines/s', 'lines/s of CPU', 'MB/s', 'grep -c MB/s', 'grep is', 'peak RSS']];
for (const [kind, size] of cases) {
  console.error(`${kind}, ${size} MB …`);
  const log = join(folder, 'kern.log');
  const lines = writeLog(log, kind, size * 1e6, podsOfNode);
  const pairs: { ours: MeasuredRun; grep: number }[] = [];
  // In turn, so that the machine's noise affects both alike.
  for (let run = 0; run < runs; run++)
    pairs.push({ ours: await runMeasured(['replay', '--quiet', '--pods', cluster, log]), grep: grep(log) });
  const seconds = median(pairs.map(({ ours }) => ours.seconds));
  const cpu = median(pairs.map(({ ours }) => ours.cpu));
  const grepSeconds = median(pairs.map((pair) => pair.grep));
  const ratio = median(pairs.map((pair) => pair.ours.seconds / pair.grep));
  rows.push([
    `${kind}, ${size} MB`,
    ...[lines, lines / seconds, lines / cpu].map((count) => Math.round(count).toLocaleString('en-US')),
    (size / seconds).toFixed(0),
    (size / grepSeconds).toFixed(0),
    `${ratio.toFixed(0)} times as fast`,
    `${Math.max(...pairs.map(({ ours }) => ours.peak)).toFixed(0)} MB`,
  ]);
}
console.log(`\n${alignColumns(rows).join('\n')}\nmedians of ${runs} runs, start of the program included`);

/** Seconds. */
function grep(log: string): number {
  const start = performance.now();
  spawnSync('grep', ['-c', 'IN=', log]);
  return (performance.now() - start) / 1000;
}
