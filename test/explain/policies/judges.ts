import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * The folder of the public test suites that are not part of the project, as data: `POLICY_JUDGES` or, if that is not
 * set, `shared/judges` next to the folder with this checkout, or one level above.
 */
const candidates = [process.env['POLICY_JUDGES'], '../shared/judges', '../../shared/judges'];

const root = join(import.meta.dirname, '../../..');

export const judges = candidates
  .filter((each) => each !== undefined)
  .map((each) => resolve(root, each))
  .find((folder) => existsSync(join(folder, 'run.mjs')));

/** A part of the title of a test that is skipped without the suites. */
export const whereJudgesAre =
  judges === undefined ? ' (skipped: POLICY_JUDGES names no folder with run.mjs, and ../shared/judges is none)' : '';

export function readJudge(name: string): string {
  return readFileSync(join(judges ?? '', name), 'utf8');
}
