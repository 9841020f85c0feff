/**
 * `npm run simulate`: the agents of a large cluster in virtual time, with their real series, incidents, budgets, look-ups and watches,
 * before a model of an API server.
 */
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { chart } from './chart.ts';
import type { Results } from './measurements.ts';
import { help, readOptions } from './options.ts';
import { table, type Played, writeLimit } from './report.ts';
import { scenarios } from './scenarios.ts';
import type { PlayRequest } from './play.ts';
import type { Size } from './simulation.ts';

/** MiB of the thread that plays a scenario. */
const heap = { maxOldGenerationSizeMb: 12_000, maxYoungGenerationSizeMb: 192 };

const options = readOptions(process.argv.slice(2), scenarios);
if (options === 'help') console.log(help(scenarios));
else {
  const played: Played[] = [];
  for (const scenario of options.scenarios) {
    const began = process.cpuUsage();
    const results = await play(scenario.name, options);
    const { user, system } = process.cpuUsage(began);
    played.push({ scenario, results });
    console.error(
      `${scenario.name}: ${((user + system) / 1e6).toFixed(0)} s of CPU, ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB at most`,
    );
    if (options.output === undefined) continue;
    mkdirSync(options.output, { recursive: true });
    const limit = (writeLimit * options.nodes) / options.of;
    writeFileSync(join(options.output, `simulation-${scenario.name}.svg`), chart(scenario.title, results, limit));
  }
  const text = table(played);
  console.log(text);
  if (options.output !== undefined) writeFileSync(join(options.output, 'simulation.md'), text);
}

/** In a thread of its own, so that what the agents of one scenario hold is gone before the next one. */
async function play(scenario: string, { nodes, of, podsPerNode, seed }: Size): Promise<Results> {
  const workerData: PlayRequest = { scenario, size: { nodes, of, podsPerNode, seed } };
  const worker = new Worker(new URL('play.ts', import.meta.url), { workerData, resourceLimits: heap });
  const [results] = (await once(worker, 'message')) as [Results];
  await worker.terminate();
  return results;
}
