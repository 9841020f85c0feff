import { chmodSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createOwnFolder } from '../e2e/own-folder.ts';
import { findProgram, type Place, rowsOf, thisMachine } from './find.ts';
import { installPrograms } from './install.ts';
import { brought, type Use } from './table.ts';

/**
 * From now on PATH is a folder with a link to each program that the table has for this use, and nothing else: a program that is missing in
 * the table is missing on every machine, whatever is installed there. Returns how to put PATH back.
 */
export function restrictPath(use: Use, place: Place = thisMachine): () => void {
  const folder = createOwnFolder('programs');
  // Tests start programs as other users, too.
  chmodSync(folder, 0o755);
  const names = [...Object.keys(brought), ...rowsOf(use, place).flatMap(({ programs }) => programs)];
  for (const name of names) {
    const path = name === 'node' ? process.execPath : findProgram(name, place);
    if (path !== undefined) symlinkSync(path, join(folder, name));
  }
  const before = process.env['PATH'];
  process.env['PATH'] = folder;
  return () => {
    if (before === undefined) delete process.env['PATH'];
    else process.env['PATH'] = before;
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Installs what a script of this use starts, and restricts PATH until this process ends. */
export async function preparePrograms(use: Use): Promise<void> {
  await installPrograms(use);
  process.on('exit', restrictPath(use));
}
