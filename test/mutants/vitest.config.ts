import base from '../../vitest.config.ts';

/** The tests of the mutated folder, and those that concern many folders. Stryker runs the ones that reach a mutant. */
const folders = [process.env['MUTANTS_FOLDER'] ?? '', 'contract', 'properties', 'samples'];

export default { test: { ...base.test, include: folders.map((folder) => `test/${folder}/**/*.test.ts`) } };
