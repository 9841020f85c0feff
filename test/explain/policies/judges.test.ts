import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { judges, whereJudgesAre } from './judges.ts';

/** The suite's probes, which must all agree. A probe with an unknown verdict ends the run. */
test.skipIf(judges === undefined).each([
  ['netpol-analyzer: NetworkPolicy, AdminNetworkPolicy, BaselineAdminNetworkPolicy', 'netpol-analyzer', 64_498],
  ['conformance of ClusterNetworkPolicy', 'cnp-conformance', 110],
])(`agrees with %s${whereJudgesAre}`, (_title, suite, probes) => {
  const adapter = join(import.meta.dirname, 'judges-adapter.ts');
  const output = execFileSync(process.execPath, [join(judges ?? '', 'run.mjs'), adapter, suite], { encoding: 'utf8' });
  expect(output).toBe(`${probes} passed, 0 failed\n`);
});
