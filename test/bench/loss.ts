/**
 * `npm run bench -- loss`: how much of a log is lost with each style of rotation, by the unchanged package `tail`,
 * by reading the path every 5 s as kube-iptables-tailer does, and by this project. Nothing is killed.
 *
 *     node test/bench/loss.ts                                    10 s each, rotated every 200 ms and every second
 *     node test/bench/loss.ts --seconds 40 --intervals 200 --styles create --rate 50000
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { preparePrograms } from '../programs/install.ts';
import { type Style, styles as allStyles } from '../soak/rotation.ts';
import { lengthOf } from '../soak/distinct-values.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { runTrial, type Trial } from '../soak/trial.ts';

const other = join(import.meta.dirname, 'loss-reader.ts');
const readers: Record<string, readonly [string, ...string[]]> = {
  tail: [other, '--reader', 'tail'],
  'a look every 5 s': [other, '--reader', 'polling'],
  'kube-netfilter-tailer': [join(import.meta.dirname, '../soak/reader.ts')],
};

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    styles: { type: 'string', default: allStyles.join(',') },
    intervals: { type: 'string', default: '200,1000' },
    rate: { type: 'string', default: '50000' },
    lag: { type: 'string', default: '20' },
  },
});

await preparePrograms('measuring');
const folder = scratchFolder('loss');
const rows = [['rotation', 'every', ...Object.keys(readers)]];
for (const style of values.styles.split(',') as Style[]) {
  const intervals = style === 'none' ? [0] : values.intervals.split(',').map(Number);
  for (const interval of intervals) {
    const cells: string[] = [];
    for (const [name, reader] of Object.entries(readers)) {
      console.error(`${style}, every ${interval} ms, ${name} …`);
      const trial = await runTrial({
        style,
        interval,
        seconds: Number(values.seconds),
        rate: Number(values.rate),
        lag: Number(values.lag),
        keep: 20,
        nextKill: undefined,
        reader,
        // Allows one more read for readers that read every 5 s.
        timeout: 7000,
        folder: join(folder, 'trial'),
      });
      cells.push(cellOf(trial));
    }
    rows.push([style, interval === 0 ? 'never' : `${interval} ms`, ...cells]);
  }
}
console.log(`\n${alignColumns(rows).join('\n')}`);
console.log(`lost, of ${values.rate} lines/s for ${values.seconds} s; then lines that were doubled or torn`);
process.exit();

function cellOf({ written, missing, doubled, snapshot: { broken } }: Trial): string {
  const lost = lengthOf(missing);
  const more = [
    ...(doubled.length > 0 ? [`${lengthOf(doubled)} doubled`] : []),
    ...(broken > 0 ? [`${broken} torn`] : []),
  ];
  // "0.0 %" would hide a few lines.
  const share =
    lost === 0
      ? '0'
      : lost < written.lines / 1000
        ? `${lost} ${lost === 1 ? 'line' : 'lines'}`
        : `${percent(lost, written.lines)} %`;
  return [share, ...more].join(', ');
}

function percent(part: number, whole: number): string {
  return ((100 * part) / whole).toFixed(1);
}
