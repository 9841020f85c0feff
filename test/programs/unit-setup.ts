import { missingOf, restrictPath, rowsOf } from './install.ts';

/** Nothing is installed for `npm test`: what a machine lacks is named, and only the tests that start it fail. */
export default function setup(): () => void {
  const missing = rowsOf('unit').flatMap(missingOf);
  if (missing.length > 0)
    process.stderr.write(`[programs] missing, and some tests start them: ${missing.join(', ')}\n`);
  return restrictPath('unit');
}
