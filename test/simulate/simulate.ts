/**
 * `npm run simulate`: the agents of a large cluster in virtual time, with their real series, incidents, budgets,
 * look-ups and watches, and a model of an API server. Prints what each scenario of scenarios.ts costs the API
 * server.
 *
 *     npm run simulate -- --scenario conflict,scan            only these
 *     npm run simulate -- --nodes 50 --of 5000 --pods 30      50 of 5,000 nodes, with 30 Pods each besides kube-proxy and calico-node (at most 62)
 *     npm run simulate -- --seed 2                            another run of the same
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Results } from './measurements.ts';
import { table, type Played } from './report.ts';
import { scenarioNamed, scenarios } from './scenarios.ts';
import type { PlayRequest } from './play.ts';
import type { Size } from './simulation.ts';

/** MiB of the thread that plays a scenario. */
const heap = { maxOldGenerationSizeMb: 12_000, maxYoungGenerationSizeMb: 192 };

const { values } = parseArgs({
  options: {
    scenario: { type: 'string', default: scenarios.map(({ name }) => name).join(',') },
    nodes: { type: 'string', default: '5000' },
    of: { type: 'string' },
    pods: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
  },
});
const { nodes, of = nodes, pods, seed } = values;
const size: Size = { nodes: Number(nodes), of: Number(of), podsPerNode: Number(pods), seed: Number(seed) };
const played: Played[] = [];
for (const name of values.scenario.split(',')) {
  const scenario = scenarioNamed(name);
  const began = process.cpuUsage();
  const results = await play({ scenario: name, size });
  const { user, system } = process.cpuUsage(began);
  played.push({ scenario, results });
  console.error(
    `${name}: ${((user + system) / 1e6).toFixed(0)} s of CPU, ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB at most`,
  );
}
console.log(table(played));

/** Runs in a thread of its own, so that the memory of one scenario's agents is freed before the next one. */
async function play(workerData: PlayRequest): Promise<Results> {
  const worker = new Worker(new URL('play.ts', import.meta.url), { workerData, resourceLimits: heap });
  const [results] = (await once(worker, 'message')) as [Results];
  await worker.terminate();
  return results;
}
