// Installs the locked dependencies when they are missing or not the locked ones: for `npm start` those that the program itself loads,
// for `npm test` all. Runs with whatever node the machine has, so it must work on old releases and without dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const locked = readFileSync(join(root, 'package-lock.json'), 'utf8');
const marks = {
  all: join(root, 'node_modules', '.installed-lock.json'),
  program: join(root, 'node_modules', '.installed-program-lock.json'),
};

const notices = {
  all: 'Installing the locked dependencies',
  report: 'The report needs DuckDB and esbuild: installing the development packages as well',
  program: 'Installing what the program needs',
};

/** The node that this project runs on: one that was installed with it, or the machine's own if it is new enough. */
export function projectNode() {
  const installed = join(root, 'node_modules', '.bin', 'node');
  return existsSync(installed) ? installed : process.execPath;
}

/**
 * Ends the process with status 1 if npm fails, or if there is no Node.js that is new enough.
 *
 * @param {'all' | 'report' | 'program'} purpose `program`: without the development packages
 */
export function install(purpose) {
  const packages = purpose === 'program' ? 'program' : 'all';
  if (isInstalled('all') || (packages === 'program' && isInstalled('program'))) return;
  console.error(`${notices[purpose]} (npm ci), once …`);
  const omitted = packages === 'program' ? ['--omit=dev'] : [];
  const { status, error } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...omitted],
    { cwd: root, stdio: ['ignore', 2, 2] },
  );
  if (status !== 0) {
    console.error(
      `npm ci failed${error ? `: ${error.message}` : ` (exit status ${status})`}. Is the npm registry reachable?`,
    );
    process.exit(1);
  }
  const version = spawnSync(projectNode(), ['--version'], { encoding: 'utf8' }).stdout.trim();
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  if (major < 24 || (major === 24 && minor < 12)) {
    console.error(
      `Node.js 24.12 or newer is needed and none comes with npm for this platform; this machine has ${version}.`,
    );
    process.exit(1);
  }
  writeFileSync(marks[packages], locked);
}

/** @param {'all' | 'program'} packages */
function isInstalled(packages) {
  return existsSync(marks[packages]) && readFileSync(marks[packages], 'utf8') === locked;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install('all');
