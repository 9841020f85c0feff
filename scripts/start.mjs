// `npm start`: the main job on one of the samples. `npm start -- COMMAND …`: any other command of the program.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, projectNode } from './install.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const given = process.argv.slice(2);
install(makesReport(given) ? 'report' : 'program');
process.exit(given.length > 0 ? run(given, callersFolder()) : demo());

/** Runs the program. Returns its exit status. */
function run(args, cwd) {
  return spawnSync(projectNode(), [join(root, 'src', 'main.ts'), ...args], { stdio: 'inherit', cwd }).status ?? 1;
}

/** `report` and `drops report` with rows, and `replay` with `--output html`, load DuckDB and esbuild, which are development packages. */
function makesReport(args) {
  if (args.some((each) => each === '-h' || each === '--help')) return false;
  const [first, second, third] = args;
  const rows = first === 'drops' && second === 'report' ? third : first === 'report' ? second : undefined;
  return rows !== undefined || args.some((each) => /^(?:-o|--output)?=?html$/.test(each));
}

/**
 * npm runs a script in the folder of its package, also for `npm --prefix FOLDER start`, and passes on in INIT_CWD where it was
 * called. Everything that npm starts inherits INIT_CWD, so it holds only where npm has started this very script.
 */
function callersFolder() {
  const { INIT_CWD: called = '', npm_lifecycle_event: script, npm_package_json: manifest = '' } = process.env;
  const isOwn = existsSync(manifest) && realpathSync(manifest) === join(root, 'package.json');
  return isOwn && script === 'start' && process.cwd() === root && existsSync(called) ? called : process.cwd();
}

/** One case on one screen. The time is fixed because kernel logs have stamps without a year. Returns the exit status. */
function demo() {
  const command = 'replay --pods samples/cluster.json --now 2026-11-21T10:20:00Z';
  const args = [...command.split(' '), '--namespace', 'shop', 'samples/policy-deny.log'];
  const drops = readFileSync(join(root, 'samples', 'policy-deny.log'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('calico-drop'));
  console.log(`Since a rollout, workers in the namespace batch cannot reach their database. No Pod logs why, but the kernel of node-b has logged ${drops.length} lines like this one:

  ${drops[0]?.slice(0, 150)}…

kube-netfilter-tailer turns them into Events. This command replays the log of that node, without a cluster:

$ kube-netfilter-tailer ${args.join(' ')}
`);
  const status = run(args, root);
  console.log(`
The workers also have Events: to see them, leave out --namespace shop. Other cases, which samples/README.md explains:

  npm start -- replay --pods samples/cluster.json samples/kube-proxy-lw8zd-fight.log   # Service rules are deleted under kube-proxy
  npm start -- replay --pods samples/cluster.json samples/port-scan.log                # one Pod scans another
  npm start -- replay --pods samples/cluster.json samples/conntrack-full.log           # the connection table is full
  npm start -- replay --pods samples/cluster.json samples/*.log                        # all of them`);
  return status;
}
