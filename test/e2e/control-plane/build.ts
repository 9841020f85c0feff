import { execFile } from 'node:child_process';
import { access, constants, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  cachePath,
  KUBERNETES_VERSION,
  moduleFolder,
  neededGo,
  type Program,
  type Recipe,
  RECIPES,
} from './binaries.ts';
import { withLock } from './lock.ts';

const run = promisify(execFile);

/** The absolute path of each program. */
export type Paths<Name extends Program> = Readonly<Record<Name, string>>;

/** KUBEBUILDER_ASSETS may provide these: the archives of envtest have them. */
const ASSETS = ['etcd', 'kube-apiserver', 'kubectl'] as const satisfies readonly Program[];

/**
 * Paths of the programs: those of KUBEBUILDER_ASSETS if it has them, otherwise built once from their Go modules and
 * kept in the cache folder. Progress goes to stderr.
 */
export async function ensurePrograms<Name extends Program>(
  names: readonly Name[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Paths<Name>> {
  const provided = names.some((name) => ASSETS.some((asset) => asset === name))
    ? await fromAssets(env.KUBEBUILDER_ASSETS)
    : new Map<Program, string>();
  const wanted = names.filter((name) => !provided.has(name));
  for (const name of await missing(wanted, env)) {
    // Let go after each program: another process waits for one of these, not for all.
    await withLock(
      'kube-netfilter-tailer-build',
      () => say(`another process is building a program, waiting for it before ${name} ...`),
      // Looked at again under the lock: the process that held it may have built it.
      async () => buildAll(await missing([name], env), env),
    );
  }
  return Object.fromEntries(names.map((name) => [name, provided.get(name) ?? cachePath(name, env)])) as Paths<Name>;
}

async function fromAssets(folder: string | undefined): Promise<ReadonlyMap<Program, string>> {
  if (folder === undefined || folder === '') return new Map();
  const provided = new Map<Program, string>(ASSETS.map((name) => [name, join(folder, name)]));
  const usable = await Promise.all([...provided.values()].map(isExecutable));
  if (usable.includes(false)) {
    say(`KUBEBUILDER_ASSETS=${folder} lacks etcd, kube-apiserver or kubectl: not used`);
    return new Map();
  }
  const { stdout } = await run(join(folder, 'kube-apiserver'), ['--version']);
  if (!stdout.includes(`v${KUBERNETES_VERSION}`)) {
    say(`KUBEBUILDER_ASSETS has ${stdout.trim()}; the project is tested with v${KUBERNETES_VERSION}`);
  }
  return provided;
}

async function missing(names: readonly Program[], env: NodeJS.ProcessEnv): Promise<readonly Program[]> {
  const built = await Promise.all(names.map((name) => isExecutable(cachePath(name, env))));
  return names.filter((_, index) => built[index] !== true);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function buildAll(names: readonly Program[], env: NodeJS.ProcessEnv): Promise<void> {
  if (names.length === 0) return;
  await checkGo(names);
  for (const name of names) await build(name, cachePath(name, env));
}

async function build(name: Program, path: string): Promise<void> {
  const recipe: Recipe = RECIPES[name];
  const { version, minutes, tags = '', ldflags = '', cgo = false } = recipe;
  say(`building ${name} ${version} (once, about ${minutes} min on two cores) ...`);
  const started = performance.now();
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  for (const leftover of await readdir(folder)) {
    if (leftover.startsWith(`.${basename(path)}.`)) await rm(join(folder, leftover), { force: true });
  }
  const unfinished = join(folder, `.${name}.${process.pid}`);
  // -buildvcs=false: the commit of the surrounding repository says nothing about these programs.
  const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', `-tags=${tags}`, '-ldflags', `-s -w ${ldflags}`];
  try {
    await run('go', ['build', ...flags, '-o', unfinished, recipe.package], {
      cwd: moduleFolder(name),
      env: { ...goEnvironment(), CGO_ENABLED: cgo ? '1' : '0' },
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (cause) {
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    const lastLines = output.split('\n').slice(-20).join('\n');
    throw new Error(`[control-plane] go could not build ${name} ${version}:\n${lastLines}`, { cause });
  }
  await rename(unfinished, path);
  say(`built ${name} in ${Math.round((performance.now() - started) / 1000)} s`);
}

async function checkGo(names: readonly Program[]): Promise<void> {
  const needed = names.map(neededGo).toSorted(compareVersions).at(-1) ?? '';
  const remedy = `the tests build ${names.join(', ')} with Go ${needed} or newer: install it`;
  let found: string;
  try {
    // Outside the module: within it an old go refuses to answer at all.
    const { stdout } = await run('go', ['env', 'GOVERSION'], { cwd: tmpdir(), env: goEnvironment() });
    found = /^go(\d+(?:\.\d+)*)/.exec(stdout)?.[1] ?? stdout.trim();
  } catch (cause) {
    throw new Error(`[control-plane] no usable \`go\` on the PATH; ${remedy}`, { cause });
  }
  if (compareVersions(found, needed) < 0) throw new Error(`[control-plane] go is ${found}; ${remedy}`);
}

// A developer's settings for other projects (GOFLAGS=-mod=vendor, a go.work) must not reach this build.
function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
}

function compareVersions(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true });
}

function say(line: string): void {
  process.stderr.write(`[control-plane] ${line}\n`);
}

if (import.meta.main) {
  for (const path of Object.values(await ensurePrograms(Object.keys(RECIPES) as Program[])))
    process.stdout.write(`${path}\n`);
}
