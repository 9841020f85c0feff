/** Rewrites samples/<case>.expected.json from what the program says now: read `git diff samples` before you keep it. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expectedPath, replaySample, samplesWith } from '../test/samples/sample.ts';

const cases = samplesWith('.log');
let changes = 0;

for (const name of cases) {
  const path = expectedPath(name);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  const after = `${JSON.stringify(await replaySample(name), null, 2)}\n`;
  if (after === before) continue;
  writeFileSync(path, after);
  show(before === undefined ? 'new' : 'changed', name);
}
for (const name of samplesWith('.expected.json').filter((each) => !cases.includes(each))) {
  rmSync(expectedPath(name));
  show('removed', name);
}
if (changes === 0) process.stdout.write(`all ${cases.length} are up to date\n`);

function show(what: string, name: string): void {
  changes++;
  process.stdout.write(`${what.padEnd(8)} ${name}\n`);
}
