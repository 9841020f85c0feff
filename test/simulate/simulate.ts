/**
 * `npm run simulate`: the agents of a large cluster in virtual time, with their real series, incidents, budgets, look-ups and watches,
 * before a model of an API server.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chart } from './chart.ts';
import { help, readOptions } from './options.ts';
import { table, type Played, writeLimit } from './report.ts';
import { scenarios } from './scenarios.ts';
import { simulate } from './simulation.ts';

const options = readOptions(process.argv.slice(2), scenarios);
if (options === 'help') console.log(help(scenarios));
else {
  const played: Played[] = [];
  for (const scenario of options.scenarios) {
    const began = process.cpuUsage();
    const results = await simulate(scenario, options);
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
