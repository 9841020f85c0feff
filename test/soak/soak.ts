/**
 * `npm run soak`: writes and rotates a log faster than on any node, and kills its reader again and again. Every line
 * must be counted exactly once.
 *
 *     npm run soak                                        40 s for each style of rotation
 *     npm run soak -- --seconds 5 --styles create,kubelet
 *     npm run soak -- --rate 50000 --interval 200 --lag 20 --keep 20 --seed 1 --kills false
 *     npm run soak -- --kill-within 1000                  kills the reader within this many milliseconds
 *     npm run soak -- --minutes 60                        instead, agents with all sources at a real API server (agents/soak.ts)
 *
 * Intervals and lags are in milliseconds. No file is deleted before it was read, however slow the machine is; the
 * log is then rotated less often.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { preparePrograms } from '../programs/install.ts';
import { soakAgents } from './agents/soak.ts';
import { createRandom } from './random.ts';
import { type Style, styles as allStyles } from './rotation.ts';
import { scratchFolder } from './scratch-folder.ts';
import { lengthOf } from './distinct-values.ts';
import { runTrial, type Trial } from './trial.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    styles: { type: 'string', default: allStyles.join(',') },
    rate: { type: 'string', default: '50000' },
    interval: { type: 'string', default: '200' },
    lag: { type: 'string', default: '20' },
    keep: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: 'true' },
    'kill-within': { type: 'string', default: '3000' },
    minutes: { type: 'string' },
  },
});
if (values.minutes !== undefined) process.exit(await soakAgents(Number(values.minutes), Number(values.seed)));

const styles = values.styles.split(',') as Style[];
const unknown = styles.filter((style) => !allStyles.includes(style));
if (unknown.length > 0) throw new Error(`unknown style ${unknown.join(', ')}; there are ${allStyles.join(', ')}`);

await preparePrograms('measuring');
const folder = scratchFolder('soak');
/** Even while it is starting. */
const soonest = 100;
const latest = Math.max(soonest, Number(values['kill-within']));
const random = createRandom(Number(values.seed));
console.log(`seed ${values.seed}`);
const trials: Trial[] = [];
const failures: string[] = [];
for (const style of styles) {
  console.error(`${style} …`);
  try {
    const trial = await runTrial({
      style,
      seconds: Number(values.seconds),
      rate: Number(values.rate),
      interval: Number(values.interval),
      lag: Number(values.lag),
      keep: Number(values.keep),
      // A file that is deleted while nothing reads it cannot be recovered.
      nextKill:
        values.kills === 'true' && style !== 'delete' ? () => soonest + random() * (latest - soonest) : undefined,
      reader: [join(import.meta.dirname, 'reader.ts')],
      timeout: 6000,
      waits: true,
      folder: join(folder, style),
    });
    trials.push(trial);
    if (!isExact(trial)) failures.push(...problemsOf(trial));
  } catch (error) {
    failures.push(`${style}: ${(error as Error).message}`);
  }
}

console.log(`\n${alignColumns([header(), ...trials.map(rowOf)]).join('\n')}`);
for (const { style, snapshot } of trials) {
  for (const [reason, times] of Object.entries(snapshot.reported.losses))
    console.log(`${style}: reported ${times} times: ${reason}`);
}
for (const failure of failures) console.log(failure);
const passed = trials.filter(isExact).length;
console.log(`\nsoak: ${passed} passed, ${styles.length - passed} failed`);
process.exit(passed === styles.length ? 0 : 1);

function isExact({ missing, doubled, snapshot }: Trial): boolean {
  return missing.length + doubled.length + snapshot.broken === 0;
}

function header(): string[] {
  const counts = ['lines', 'lost', 'doubled', 'broken', 'reported as lost', 'rotations', 'kills', 'reused inodes'];
  return ['style', ...counts, 'CPU', 'peak RSS'];
}

function rowOf({ style, written, missing, doubled, kills, cpuSeconds, peakBytes, snapshot }: Trial): string[] {
  const { broken, reported } = snapshot;
  const more = reported.unmeasured > 0 ? ` + ${reported.unmeasured} times` : '';
  return [
    style,
    ...[written.lines, lengthOf(missing), lengthOf(doubled), broken].map((count) => count.toLocaleString('en-US')),
    `${reported.lostBytes.toLocaleString('en-US')} bytes${more}`,
    ...[written.rotations, kills, written.reused].map(String),
    `${cpuSeconds.toFixed(1)} s in ${written.seconds.toFixed(1)} s`,
    `${Math.round(peakBytes / 1e6)} MB`,
  ];
}

function problemsOf({ style, missing, doubled, snapshot }: Trial): string[] {
  const { firstBroken, reported } = snapshot;
  const runs = Object.entries({ lost: missing, doubled }).filter(([, each]) => each.length > 0);
  return [
    ...runs.map(([what, each]) => {
      const first = each.slice(0, 10).map(([from, to]) => `${from}–${to - 1}`);
      return `${style}: ${what} in ${each.length} runs: ${first.join(', ')}`;
    }),
    ...firstBroken.map((text) => `${style}: broken: ${JSON.stringify(text)}`),
    ...Object.entries(reported.notices).map(([text, times]) => `${style}: noticed ${times} times: ${text}`),
  ];
}
