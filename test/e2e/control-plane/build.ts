import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, constants, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  ACTIONLINT_RECIPE,
  actionlintCacheFolder,
  cacheFolder,
  HELM_RECIPE,
  helmCacheFolder,
  KUBELET_SERVER_RECIPE,
  kubeletServerCacheFolder,
  KUBERNETES_VERSION,
  neededGo,
  NODE_RECIPES,
  RECIPES,
} from './binaries.ts';
import type { Binaries, BinaryName, NodeBinaryName, Recipe } from './binaries.ts';
import { withLock } from './lock.ts';

const run = promisify(execFile);

/**
 * Paths of etcd, kube-apiserver, kubectl and kube-proxy: those of KUBEBUILDER_ASSETS when it has them, else built from
 * their Go modules once and kept in the cache folder. Progress goes to stderr.
 */
export async function ensureBinaries(env: NodeJS.ProcessEnv = process.env): Promise<Binaries> {
  const folder = cacheFolder(env);
  const provided = await fromAssets(env.KUBEBUILDER_ASSETS);
  await ensureBuilt(
    folder,
    RECIPES.filter((recipe) => !provided.has(recipe.name)),
  );
  const path = (name: BinaryName): string => provided.get(name) ?? join(folder, name);
  return {
    etcd: path('etcd'),
    'kube-apiserver': path('kube-apiserver'),
    kubectl: path('kubectl'),
    'kube-proxy': path('kube-proxy'),
  };
}

/** The same for what a cluster with a node takes; always built, as KUBEBUILDER_ASSETS never has them. */
export async function ensureNodeBinaries(
  env: NodeJS.ProcessEnv = process.env,
): Promise<Readonly<Record<NodeBinaryName, string>>> {
  const folder = cacheFolder(env);
  const serverFolder = kubeletServerCacheFolder(env);
  await ensureBuilt(folder, NODE_RECIPES);
  await ensureBuilt(serverFolder, [KUBELET_SERVER_RECIPE]);
  return {
    'kube-controller-manager': join(folder, 'kube-controller-manager'),
    'kube-scheduler': join(folder, 'kube-scheduler'),
    'kubelet-server': join(serverFolder, 'kubelet-server'),
  };
}

/** The same for helm, which has a version and so a folder of its own. */
export async function ensureHelm(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = helmCacheFolder(env);
  await ensureBuilt(folder, [HELM_RECIPE]);
  return join(folder, HELM_RECIPE.name);
}

/** The same for actionlint. */
export async function ensureActionlint(env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = actionlintCacheFolder(env);
  await ensureBuilt(folder, [ACTIONLINT_RECIPE]);
  return join(folder, ACTIONLINT_RECIPE.name);
}

async function ensureBuilt(folder: string, wanted: readonly Recipe[]): Promise<void> {
  if ((await missing(folder, wanted)).length > 0) {
    await mkdir(folder, { recursive: true });
    await withLock(
      `kube-netfilter-tailer-build:${createHash('sha256').update(folder).digest('hex')}`,
      () => say(`another process is building ${namesOf(wanted)}, waiting for it ...`),
      // Looked at again under the lock: the process that we waited for has most likely built them all.
      async () => buildAll(folder, await missing(folder, wanted)),
    );
  }
}

/** The envtest archives that KUBEBUILDER_ASSETS usually points to hold no kube-proxy; that one is then built. */
async function fromAssets(folder: string | undefined): Promise<ReadonlyMap<BinaryName, string>> {
  const provided = new Map<BinaryName, string>();
  if (folder === undefined || folder === '') return provided;
  for (const { name } of RECIPES) {
    if (await isExecutable(join(folder, name))) provided.set(name, join(folder, name));
  }
  const apiServer = provided.get('kube-apiserver');
  if (apiServer === undefined || !provided.has('etcd') || !provided.has('kubectl')) {
    say(`KUBEBUILDER_ASSETS=${folder} lacks etcd, kube-apiserver or kubectl: not used`);
    return new Map();
  }
  const { stdout } = await run(apiServer, ['--version']);
  if (!stdout.includes(`v${KUBERNETES_VERSION}`)) {
    say(`KUBEBUILDER_ASSETS has ${stdout.trim()}; the project is tested with v${KUBERNETES_VERSION}`);
  }
  return provided;
}

async function missing(folder: string, recipes: readonly Recipe[]): Promise<readonly Recipe[]> {
  const built = await Promise.all(recipes.map((recipe) => isExecutable(join(folder, recipe.name))));
  return recipes.filter((_, index) => built[index] !== true);
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function buildAll(folder: string, recipes: readonly Recipe[]): Promise<void> {
  if (recipes.length === 0) return;
  await checkGo(recipes);
  for (const leftover of await readdir(folder)) {
    if (leftover.startsWith('.')) await rm(join(folder, leftover), { force: true });
  }
  for (const recipe of recipes) await build(folder, recipe);
}

async function build(folder: string, recipe: Recipe): Promise<void> {
  const { name, version, minutes } = recipe;
  say(`building ${name} ${version} (once, about ${minutes} min on two cores) ...`);
  const started = performance.now();
  const unfinished = join(folder, `.${name}.${process.pid}`);
  // -buildvcs=false: the commit of the surrounding repository says nothing about these programs.
  const flags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', recipe.ldflags];
  try {
    await run('go', ['build', ...flags, '-o', unfinished, recipe.package], {
      cwd: recipe.moduleFolder,
      env: goEnvironment(),
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch (cause) {
    const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    const lastLines = output.split('\n').slice(-20).join('\n');
    throw new Error(`[control-plane] go could not build ${name} ${version}:\n${lastLines}`, { cause });
  }
  await rename(unfinished, join(folder, name));
  say(`built ${name} in ${Math.round((performance.now() - started) / 1000)} s`);
}

async function checkGo(recipes: readonly Recipe[]): Promise<void> {
  const needed = recipes.map(neededGo).toSorted(compareVersions).at(-1) ?? '';
  const provided = recipes.some((recipe) => RECIPES.some(({ name }) => name === recipe.name));
  const other = provided ? ', or point KUBEBUILDER_ASSETS at etcd, kube-apiserver, kubectl and kube-proxy' : '';
  const remedy = `the tests build ${namesOf(recipes)} with Go ${needed} or newer: install it${other}`;
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

function namesOf(recipes: readonly Recipe[]): string {
  return recipes.map(({ name }) => name).join(', ');
}

// What a developer has set for other projects (GOFLAGS=-mod=vendor, a go.work) must not reach this build.
function goEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off', GOTOOLCHAIN: 'local' };
}

function compareVersions(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true });
}

function say(line: string): void {
  process.stderr.write(`[control-plane] ${line}\n`);
}

if (import.meta.main) {
  const binaries = await ensureBinaries();
  for (const path of Object.values(binaries)) process.stdout.write(`${path}\n`);
}
