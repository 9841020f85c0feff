// Installs the npm package into an empty folder, without a network, and replays each sample with it:
//
//   try-package.mjs TARBALL
//
// Runs as it is on Linux, macOS and Windows: no shell, no dependency. TRY_NODE: a Node.js other than that of this process.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const samples = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'samples');
const [, , tarball] = process.argv;
if (tarball === undefined) {
  console.error(
    'try-package.mjs: expected the package: npm run release:dry, then dist/release/kube-netfilter-tailer-*.tgz',
  );
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-package-'));
const failures = [];
let replayed = 0;
try {
  install();
  for (const name of readdirSync(samples).filter((file) => file.endsWith('.expected.json'))) {
    const wrong = replay(name.slice(0, -'.expected.json'.length));
    replayed++;
    if (wrong !== undefined) failures.push(wrong);
  }
  const { status, stderr } = program(['replay', join(folder, 'missing.log')]);
  if (status !== 1 || !stderr.includes('no such file')) failures.push(`a missing log ended with ${status}: ${stderr}`);
  const absent = program(['report', 'rows.ndjson']);
  if (absent.status !== 2 || !absent.stderr.includes('is not in the image'))
    failures.push(`report ended with ${absent.status}: ${absent.stderr}`);
  const plugin = spawnSync(
    process.env.TRY_NODE ?? process.execPath,
    [join(folder, 'node_modules/kube-netfilter-tailer/bin/kubectl-drops.cjs'), '--help'],
    { encoding: 'utf8', cwd: folder },
  );
  if (!plugin.stdout.startsWith('Usage: kubectl drops')) failures.push(`kubectl-drops --help: ${plugin.stderr}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const failure of failures) console.error(`FAILED: ${failure}`);
console.log(`${process.platform}, Node.js ${versionOfNode()}: ${replayed} samples replayed, ${failures.length} failed`);
process.exit(failures.length === 0 && replayed > 0 ? 0 : 1);

function install() {
  const args = [
    'install',
    '--offline',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefix',
    folder,
    resolve(tarball),
  ];
  // npm is a script for a command interpreter on Windows; what npm starts knows where its program is.
  const { npm_execpath: npm } = process.env;
  const { status, stdout, stderr, error } =
    npm === undefined
      ? spawnSync('npm', args, { encoding: 'utf8' })
      : spawnSync(process.execPath, [npm, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${error?.message ?? stdout + stderr}`);
}

/** @param {string} name of a sample. Returns what is wrong. */
function replay(name) {
  const log = join(samples, `${name}.log`);
  const common = ['--pods', join(samples, 'cluster.json'), '--now', '2026-11-21T20:00:00Z', '--output', 'json'];
  const { status, stdout, stderr } = program(['replay', ...common, log]);
  if (status !== 0) return `${name}: exit status ${status}\n${stderr}`;
  const found = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const { events } = JSON.parse(readFileSync(join(samples, `${name}.expected.json`), 'utf8'));
  return JSON.stringify(found) === JSON.stringify(events)
    ? undefined
    : `${name}: other Events than ${name}.expected.json`;
}

/** @param {string[]} args */
function program(args) {
  const started = join(folder, 'node_modules/kube-netfilter-tailer/bin/kube-netfilter-tailer.cjs');
  return spawnSync(process.env.TRY_NODE ?? process.execPath, [started, ...args], { encoding: 'utf8', cwd: folder });
}

function versionOfNode() {
  return spawnSync(process.env.TRY_NODE ?? process.execPath, ['--version'], { encoding: 'utf8' }).stdout.trim();
}
