// Installs the locked dependencies when they are missing or not the locked ones. Runs before `npm start` and `npm test`,
// with whatever node the machine has, so it must work on old releases and without dependencies.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const locked = readFileSync(join(root, 'package-lock.json'), 'utf8');
const mark = join(root, 'node_modules', '.installed-lock.json');

/** The node that this project runs on: one that was installed with it, or the machine's own if it is new enough. */
export function projectNode() {
  const installed = join(root, 'node_modules', '.bin', 'node');
  return existsSync(installed) ? installed : process.execPath;
}

export function install() {
  if (existsSync(mark) && readFileSync(mark, 'utf8') === locked) return;
  console.error('Installing the locked dependencies (npm ci), once …');
  const { status, error } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd: root,
      stdio: ['ignore', 2, 2],
    },
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
  writeFileSync(mark, locked);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install();
