/**
 * `npm run bench -- growth`: the cost at each size of each dimension, and the exponent of its growth from one size
 * to the next: 1 is linear, 0 is constant. At the end, lists the dimensions that are worse than linear. Each size is
 * a separate run of the built bundle; times are processor time, minus that of an empty run.
 *
 *     npm run bench -- growth                    a few minutes
 *     npm run bench -- growth --full             with the largest sizes as well
 *     npm run bench -- growth hosts              dimensions whose name contains the word
 *     npm run bench -- growth --beside BUNDLE    also the bundle of another version, in turn, in a second table
 *     npm run bench -- growth --runs 3           medians
 */
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { buildBundle, bundle } from '../e2e/bundle.ts';
import { scratchFolder } from '../soak/scratch-folder.ts';
import { type Dimension, dimensionsOf } from './growth/dimensions.ts';
import { type MeasuredRun, runMeasured } from './measured-run.ts';
import { median } from './quantile.ts';

const { values: options, positionals: words } = parseArgs({
  allowPositionals: true,
  options: {
    full: { type: 'boolean', default: false },
    beside: { type: 'string' },
    runs: { type: 'string', default: '1' },
  },
});
const runs = Number(options.runs);

/** Timing noise makes a small step look steeper than it is, so only steps above these limits count. */
const worst = { exponent: 1.2, seconds: 0.5, megabytes: 50 };

interface Cost {
  size: number;
  cpu: number;
  peak: number;
  /** Bytes that were printed. */
  printed: number;
}

const dimensions = dimensionsOf(options.full).filter(
  ({ name }) => words.length === 0 || words.some((word) => name.includes(word)),
);
if (dimensions.length === 0) {
  const names = dimensionsOf(options.full).map(({ name }) => name);
  console.error(`No dimension has ${words.join(' or ')} in its name; there are:\n${names.join('\n')}`);
  process.exit(2);
}

const programs = [bundle, ...(options.beside === undefined ? [] : [resolve(options.beside)])];
const folder = scratchFolder('growth');
await buildBundle();
const output = join(folder, 'output');
writeFileSync(join(folder, 'empty.log'), '');
const starts = new Map<string, Cost>();
for (const program of programs)
  starts.set(program, costOf(0, await repeated(program, ['replay', '--quiet', join(folder, 'empty.log')], 0)));

const head = ['size', 'CPU', 'exponent', 'peak', 'exponent', 'printed'];
const steep: string[] = [];
for (const dimension of dimensions) {
  for (const [program, costs] of await measured(dimension)) {
    const rows = rowsOf(costs, starts.get(program) as Cost);
    const title = program === bundle ? dimension.name : `the same with ${program}`;
    console.log(`\n${title}\n${alignColumns([head, ...rows.map(({ cells }) => cells)]).join('\n')}`);
    for (const { step } of rows) if (step !== undefined && program === bundle) steep.push(`${dimension.name}: ${step}`);
  }
}
console.log(steep.length === 0 ? '\nNothing is worse than linear.' : `\nWorse than linear:\n${steep.join('\n')}`);

/** Runs each size with each program in turn, so that the machine's noise affects all alike. */
async function measured(dimension: Dimension): Promise<Map<string, Cost[]>> {
  const costs = new Map<string, Cost[]>(programs.map((program) => [program, []]));
  for (const size of dimension.sizes) {
    console.error(`${dimension.name}: ${size.toLocaleString('en-US')} …`);
    const files = join(folder, 'files');
    mkdirSync(files);
    const args = dimension.prepare(files, size);
    for (const program of programs)
      costs.get(program)?.push(costOf(size, await repeated(program, args, dimension.status)));
    rmSync(files, { recursive: true });
  }
  return costs;
}

async function repeated(program: string, args: readonly string[], status = 0): Promise<MeasuredRun[]> {
  const all: MeasuredRun[] = [];
  for (let run = 0; run < runs; run++) all.push(await runMeasured(args, { output, program, status }));
  return all;
}

function costOf(size: number, all: readonly MeasuredRun[]): Cost {
  const [cpu, peak] = [median(all.map((run) => run.cpu)), median(all.map((run) => run.peak))];
  return { size, cpu, peak, printed: statSync(output).size };
}

/** `step`: the growth beyond linear since the size before. */
function rowsOf(costs: readonly Cost[], start: Cost): { cells: string[]; step: string | undefined }[] {
  return costs.map(({ size, cpu, peak, printed }, index) => {
    const before = costs[index - 1];
    const sizes = before && ([before.size, size] as const);
    const time = sizes && exponentOf(sizes, before.cpu - start.cpu, cpu - start.cpu);
    const memory = sizes && exponentOf(sizes, before.peak - start.peak, peak - start.peak);
    const isSlow = before && (time ?? 0) > worst.exponent && cpu - before.cpu > worst.seconds;
    const isLarge = before && (memory ?? 0) > worst.exponent && peak - before.peak > worst.megabytes;
    const cells = [
      size.toLocaleString('en-US'),
      `${(cpu - start.cpu).toFixed(2)} s`,
      time?.toFixed(2) ?? '',
      `${peak} MB`,
      memory?.toFixed(2) ?? '',
      `${(printed / 1000).toFixed(0)} kB`,
    ];
    const what = [isSlow ? 'processor time' : [], isLarge ? 'memory' : []].flat().join(' and ');
    return { cells, step: what === '' ? undefined : `${what}, from ${before?.size} to ${size}` };
  });
}

/** `least`: smaller values cannot be told apart from the program's start. */
function exponentOf([from, to]: readonly [number, number], before: number, after: number, least = 0.02): number {
  return Math.log(Math.max(after, least) / Math.max(before, least)) / Math.log(to / from);
}
