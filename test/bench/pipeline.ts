/**
 * `npm run bench`: lines a second through the whole pipeline of the built bundle, beside `grep -c` on the same file in
 * the same run, and peak memory. Ratios count: the machine's speed does not.
 *
 *     npm run bench             200 MB logs, 5 runs each
 *     npm run bench -- --full   and a 1 GB log, for the memory
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { alignColumns } from '../../src/events/describe.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { preparePrograms } from '../programs/install.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { type LogKind, writeLog } from './lines.ts';
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
const rows = [['log', 'lines', 'lines/s', 'MB/s', 'grep -c MB/s', 'grep is', 'peak RSS']];
for (const [kind, size] of cases) {
  console.error(`${kind}, ${size} MB …`);
  const log = join(folder, 'kern.log');
  const lines = writeLog(log, kind, size * 1e6, podsOfNode);
  // In turn, so that both see the same moods of the machine.
  const pairs = Array.from({ length: runs }, () => ({ ours: replay(log), grep: grep(log) }));
  const seconds = median(pairs.map(({ ours }) => ours.seconds));
  const grepSeconds = median(pairs.map((pair) => pair.grep));
  const ratio = median(pairs.map((pair) => pair.ours.seconds / pair.grep));
  rows.push([
    `${kind}, ${size} MB`,
    lines.toLocaleString('en-US'),
    Math.round(lines / seconds).toLocaleString('en-US'),
    (size / seconds).toFixed(0),
    (size / grepSeconds).toFixed(0),
    `${ratio.toFixed(0)} times as fast`,
    `${Math.max(...pairs.map(({ ours }) => ours.peak)).toFixed(0)} MB`,
  ]);
}
console.log(`\n${alignColumns(rows).join('\n')}\nmedians of ${runs} runs, start of the program included`);

/** Wall-clock seconds and peak resident memory in MB of one run, as a user starts it. */
function replay(log: string): { seconds: number; peak: number } {
  const report = join(folder, 'peak');
  // /proc is gone with the process, so it writes its own peak (VmHWM) at its very end.
  const hook = `data:text/javascript,import{readFileSync,writeFileSync}from'node:fs';process.on('exit',()=>writeFileSync('${report}',/VmHWM:\\s*(\\d+)/.exec(readFileSync('/proc/self/status','utf8'))[1]))`;
  const start = process.hrtime.bigint();
  const run = spawnSync(process.execPath, ['--import', hook, bundle, 'replay', '--quiet', '--pods', cluster, log], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  if (run.status !== 0) throw new Error(`replay ended with exit status ${run.status}`);
  return { seconds, peak: Number(readFileSync(report, 'utf8')) / 1024 };
}

function grep(log: string): number {
  const start = process.hrtime.bigint();
  spawnSync('grep', ['-c', 'IN=', log]);
  return Number(process.hrtime.bigint() - start) / 1e9;
}
