/** Rewrites the blocks of documents that show what a command prints: read `git diff` before you keep it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentPaths, root, textOf } from '../test/docs/documents.ts';
import { shownBlocks, withOutputs } from '../test/docs/shown/marks.ts';
import { outputs } from '../test/docs/shown/outputs.ts';

for (const path of documentPaths()) {
  const before = textOf(path);
  const made = new Map<string, readonly string[]>();
  for (const block of shownBlocks(before)) made.set(block.name, (await outputs[block.name]?.(block)) ?? block.lines);
  const after = withOutputs(before, made);
  if (after === before) continue;
  writeFileSync(join(root, path), after);
  process.stdout.write(`changed  ${path}\n`);
}
