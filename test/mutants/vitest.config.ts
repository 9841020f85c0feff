import { common, globalSetup } from '../../vitest.config.ts';

/** Tests of a folder that are in another folder. */
const beside: Readonly<Record<string, readonly string[]>> = {
  'explain/incidents': ['properties/incidents', 'properties/node-incidents', 'properties/incident-wording'],
  'read/parsing': ['corpus', 'properties/netfilter'],
  'read/sources': ['contract', 'count/pipeline/repeated-lines'],
};

const folder = process.env['MUTANTS_FOLDER'] ?? '';

/** Tests of other folders also notice a mutant, but do not show where it is. */
const include = [folder, ...(beside[folder] ?? [])].map((each) => `test/${each}{/**/*,}.test.ts`);

export default { test: { ...common, globalSetup, include } };
