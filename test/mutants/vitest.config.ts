import base from '../../vitest.config.ts';

/** Tests of a folder that stand beside it. */
const beside: Readonly<Record<string, string>> = {
  incidents: 'properties',
  parsing: 'properties',
  sources: 'contract',
};

const folder = process.env['MUTANTS_FOLDER'] ?? '';
const folders = [folder, beside[folder]].filter((each) => each !== undefined);

/** Tests of other folders notice a mutant, too, but do not say where it is. */
export default { test: { ...base.test, include: folders.map((each) => `test/${each}/**/*.test.ts`) } };
