/** Rewrites docs/picture.svg: what `kubectl describe` shows of two samples, as the program says it now. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { picture } from './picture.ts';

const path = join(import.meta.dirname, '../docs/picture.svg');
const before = (() => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
})();
const after = await picture();
writeFileSync(path, after);
process.stdout.write(before === after ? 'docs/picture.svg is up to date\n' : 'docs/picture.svg is changed\n');
