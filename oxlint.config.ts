import { defineConfig, type OxlintOverride } from 'oxlint';

/**
 * Which folder of src/ imports which: each row names all that its folder may import, types included. Rows stand from the
 * command line down to the leaves, and an import only goes down, so the folders form no cycle.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  commands: [
    'agent',
    'audit',
    'config',
    'directory',
    'drops',
    'events',
    'incidents',
    'kubernetes',
    'log-formats',
    'model',
    'parsing',
    'pipeline',
    'platform',
    'policies',
    'report',
    'resolving',
    'series',
    'sources',
    'state',
    'telemetry',
  ],
  agent: [
    'audit',
    'config',
    'directory',
    'drops',
    'events',
    'incidents',
    'kubernetes',
    'log-formats',
    'model',
    'parsing',
    'pipeline',
    'platform',
    'policies',
    'resolving',
    'series',
    'sources',
    'state',
    'telemetry',
  ],
  report: ['audit', 'platform', 'sources'],
  directory: ['kubernetes', 'model', 'platform', 'resolving', 'serving', 'telemetry'],
  state: ['audit', 'incidents', 'model', 'pipeline', 'platform', 'series', 'sources'],
  config: ['audit', 'model', 'platform', 'sources', 'telemetry'],
  telemetry: ['model', 'pipeline', 'platform', 'serving'],
  pipeline: ['drops', 'incidents', 'log-formats', 'model', 'parsing', 'platform', 'resolving', 'series', 'sources'],
  kubernetes: ['events', 'model', 'platform', 'policies', 'resolving'],
  audit: ['drops', 'model', 'platform'],
  events: ['model', 'platform'],
  drops: ['model', 'platform', 'policies'],
  incidents: ['log-formats', 'model', 'platform'],
  policies: ['model', 'platform'],
  series: ['model', 'platform'],
  resolving: ['model', 'platform'],
  parsing: ['log-formats', 'model', 'platform'],
  sources: ['log-formats', 'model', 'platform'],
  serving: ['model', 'platform'],
  'log-formats': ['model', 'platform'],
  platform: ['model'],
  model: [],
};

/** How deep the folders of src/ nest at most. */
const deepest = 4;

/**
 * An import of another folder climbs to src/ and goes down again, so its depth tells which folder it names. What is
 * forbidden is named one by one, because the linter's regular expressions know no look-ahead.
 */
function layer([folder, allowed]: readonly [string, readonly string[]]): OxlintOverride[] {
  const forbidden = Object.keys(layers).filter((other) => other !== folder && !allowed.includes(other));
  return Array.from({ length: deepest }, (_, depth) => ({
    files: [`src/${folder}/${'*/'.repeat(depth)}*.ts`],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: `^(?:\\.\\./){${depth + 1}}(?:(?:${forbidden.join('|')})/|[^/]*$)`,
              message: `src/${folder} imports ${allowed.join(', ') || 'nothing'}: see the layers in oxlint.config.ts`,
            },
            ownProcess,
            ...(folder === 'kubernetes' ? [] : [clientLibrary]),
          ],
        },
      ],
    },
  }));
}

/** Node.js reads each property of a built-in module for whoever imports it. */
const ownProcess = {
  regex: '^node:process$',
  message: 'importing it makes a pipe on standard input non-blocking; use the global process',
};

const clientLibrary = { regex: '^@kubernetes/', message: 'only src/agent/kubernetes/ knows the client library' };

/** Lines of a function with all that stands in it, comments too, and of a file: what can be read at once. */
const longest = { function: 80, file: 250 };

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'node', 'vitest', 'oxc'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  ignorePatterns: ['dist', 'node_modules', 'coverage'],
  rules: {
    'no-control-regex': 'off',
    'no-await-in-loop': 'off',
    'import/no-named-as-default-member': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'vitest/expect-expect': 'off',
    'vitest/no-conditional-expect': 'off',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/no-explicit-any': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
  },
  overrides: [
    {
      files: ['src/**'],
      rules: {
        'node/no-process-env': 'error',
        'max-lines-per-function': ['error', { max: longest.function }],
        'max-lines': ['error', { max: longest.file }],
      },
    },
    {
      files: ['src/agent/config/config.ts', 'src/agent/config/docs-url.ts', 'src/agent/kubernetes/connection.ts'],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['src/main.ts'],
      rules: { 'no-restricted-imports': ['error', { patterns: [ownProcess, clientLibrary] }] },
    },
    // A folder that stands in no row imports nothing; the rows below go over this.
    {
      files: ['src/*/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: `^(?:\\.\\./)+(?:${Object.keys(layers).join('|')})/`,
                message: 'this folder needs a row in the layers of oxlint.config.ts',
              },
              ownProcess,
              clientLibrary,
            ],
          },
        ],
      },
    },
    ...Object.entries(layers).flatMap(layer),
  ],
});
