import { join } from 'node:path';
import { missingOf, restrictPath, rowsOf } from './install.ts';

/** Nothing is installed for `npm test`: missing programs are named, and only the tests that start them fail. */
export default function setup(): () => void {
  const missing = rowsOf('unit').flatMap(missingOf);
  if (missing.length > 0)
    process.stderr.write(`[programs] missing, and some tests start them: ${missing.join(', ')}\n`);
  // Hundreds of tests start the program from its sources; compiled, it takes half of the processor's time to start.
  process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../node_modules/.cache/compiled');
  return restrictPath('unit');
}
