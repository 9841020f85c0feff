// `npm start`: the main job on the samples. `npm start -- COMMAND …`: any other command of the program.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, projectNode } from './install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
install();
const given = process.argv.slice(2);
const { status } = spawnSync(projectNode(), [join(root, 'src', 'main.ts'), ...(given.length > 0 ? given : demo())], {
  stdio: 'inherit',
  cwd: given.length > 0 ? callersFolder() : root,
});
process.exit(status ?? 1);

/**
 * npm runs a script in the folder of its package, also for `npm --prefix FOLDER start`, and passes on in INIT_CWD where it was
 * called. Everything that npm starts inherits INIT_CWD, so it holds only where npm has started this very script.
 */
function callersFolder() {
  const { INIT_CWD: called = '', npm_lifecycle_event: script, npm_package_json: manifest = '' } = process.env;
  const isOwn = existsSync(manifest) && realpathSync(manifest) === join(root, 'package.json');
  return isOwn && script === 'start' && process.cwd() === root && existsSync(called) ? called : process.cwd();
}

/** The time is fixed because some samples, like most kernel logs, have stamps without a year. */
function demo() {
  const logs = readdirSync(join(root, 'samples')).filter((name) => name.endsWith('.log'));
  const args = [
    'replay',
    '--pods',
    'samples/cluster.json',
    '--now',
    '2026-11-21T20:00:00Z',
    ...logs.map((name) => `samples/${name}`),
  ];
  console.error(`$ kube-netfilter-tailer ${args.slice(0, 5).join(' ')} samples/*.log\n`);
  return args;
}
