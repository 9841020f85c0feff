import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type OxlintOverride } from 'oxlint';

/** The floors of src/, from the command line down to the leaves, and their rooms. An import stays on its floor or goes down. */
export const floors: Readonly<Record<string, readonly string[]>> = {
  cli: ['report'],
  agent: ['config', 'directory', 'kubernetes', 'serving', 'telemetry'],
  publish: ['audit', 'events', 'state'],
  count: ['pipeline', 'series'],
  explain: ['drops', 'incidents', 'policies', 'resolving'],
  read: ['parsing', 'sources'],
  base: ['log-formats', 'model', 'platform'],
};
const floorNames = Object.keys(floors);

/**
 * Which room of src/ imports which, on whatever floor: each row names all that its room may import, types included. `cli` and `agent` are
 * what these floors have beside their rooms.
 */
const layers: Readonly<Record<string, readonly string[]>> = {
  cli: [
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

/** How deep the folders of a room nest at most. */
const deepest = 3;

/** The floor of a room. */
function floorOf(room: string): string {
  const floor = floorNames.find((name) => name === room || floors[name]?.includes(room) === true);
  if (floor === undefined) throw new Error(`oxlint.config.ts: no floor has the room ${room}`);
  return floor;
}

/** What stands on a floor beside its rooms: folders by name, files by a pattern. */
function besideRooms(floor: string): string[] {
  const found = readdirSync(join(import.meta.dirname, 'src', floor), { withFileTypes: true });
  const folders = found.filter((entry) => entry.isDirectory() && floors[floor]?.includes(entry.name) !== true);
  return [...folders.map(({ name }) => `${name}/`), '[^/]*$'];
}

/** Matches an import that climbs so many folders and then names one of these. */
function climb(steps: number, names: readonly string[]): string {
  return `^${steps === 0 ? '\\./' : `(?:\\.\\./){${steps}}`}(?:${names.join('|')})`;
}

/**
 * An import of another room climbs to its floor or to src/ and goes down again, so its depth tells which room it names. What is
 * forbidden is named one by one, because the linter's regular expressions know no look-ahead.
 */
function layer([room, allowed]: readonly [string, readonly string[]]): OxlintOverride[] {
  const floor = floorOf(room);
  const level = floorNames.indexOf(floor);
  const climbs = allowed.filter((other) => floorNames.indexOf(floorOf(other)) < level);
  if (climbs.length > 0) throw new Error(`oxlint.config.ts: ${room} is below ${climbs.join(', ')}`);
  const isForbidden = (other: string): boolean => other !== room && !allowed.includes(other);
  const fromFloor = (floors[floor] ?? []).filter(isForbidden).map((other) => `${other}/`);
  if (room !== floor) fromFloor.push(...besideRooms(floor));
  const fromSource = floorNames.slice(0, level).map((above) => `${above}/`);
  for (const below of floorNames.slice(level + 1))
    fromSource.push(...(floors[below] ?? []).filter(isForbidden).map((other) => `${below}/${other}/`));
  const folder = room === floor ? floor : `${floor}/${room}`;
  return Array.from({ length: deepest + 1 }, (_, depth) => {
    const toFloor = depth + (room === floor ? 0 : 1);
    const expressions = [climb(toFloor + 1, [...fromSource, '[^/]*$'])];
    if (fromFloor.length > 0) expressions.push(climb(toFloor, fromFloor));
    return {
      files: [`src/${folder}/${'*/'.repeat(depth)}*.ts`],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              ...expressions.map((regex) => ({
                regex,
                message: `${room} imports ${allowed.join(', ') || 'nothing'}: see the floors and layers in oxlint.config.ts`,
              })),
              ownProcess,
              ...(room === 'kubernetes' ? [] : [clientLibrary]),
            ],
          },
        ],
      },
    };
  });
}

/** Node.js reads each property of a built-in module for whoever imports it. commander 15 imports this one, so it stays at 14. */
const ownProcess = {
  regex: '^node:process$',
  message: 'importing it makes a pipe on standard input non-blocking; use the global process',
};

const clientLibrary = { regex: '^@kubernetes/', message: 'only src/agent/kubernetes/ knows the client library' };

/** Lines of a function with all that stands in it, and of a file: what can be read at once. Nobody leaves out a comment for them. */
const longest = { function: 80, file: 250 };
const uncounted = { skipComments: true, skipBlankLines: true };

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'import', 'promise', 'node', 'vitest', 'oxc'],
  categories: { correctness: 'error', suspicious: 'error', perf: 'error' },
  ignorePatterns: ['dist', 'node_modules', 'coverage'],
  rules: {
    'no-control-regex': 'off',
    'no-await-in-loop': 'off',
    'import/no-named-as-default-member': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    // The compiler checks that a number is one of the enum's; OTLP's numbers are a standard.
    'typescript/no-unsafe-enum-assignment': 'off',
    // It takes each `catch` for a Promise's, zod's too; the compiler counts the arguments of real ones.
    'promise/valid-params': 'off',
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
        'max-lines-per-function': ['error', { max: longest.function, ...uncounted }],
        'max-lines': ['error', { max: longest.file, ...uncounted }],
      },
    },
    {
      files: ['src/agent/{config/config,config/docs-url,kubernetes/connection,kubernetes/kubeconfig}.ts'],
      rules: { 'node/no-process-env': 'off' },
    },
    {
      files: ['src/main.ts'],
      rules: { 'no-restricted-imports': ['error', { patterns: [ownProcess, clientLibrary] }] },
    },
    // A room that stands in no row imports nothing; the rows below go over this.
    {
      files: ['src/*/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: `^(?:\\.\\./)+(?:${floorNames.join('|')})/`,
                message: 'this folder needs a floor and a row in oxlint.config.ts',
              },
              ownProcess,
              clientLibrary,
            ],
          },
        ],
      },
    },
    // The rows of a floor's own files stand before those of its rooms, whose files they also match.
    ...Object.entries(layers).flatMap(layer),
  ],
});
