/**
 * A shell on a cluster of your own, to try what the README and docs/ say:
 *
 *   npm run playground -- [FOLDER] [--helm] [-c COMMAND]
 *
 * FOLDER is where the shell begins (default: this checkout). Commands can also come by standard input. Ends with the shell's exit status;
 * needs root on Linux, as the end-to-end tests do.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installPrograms } from '../programs/install.ts';
import { buildBundle } from './bundle.ts';
import { KUBERNETES_VERSION } from './control-plane/binaries.ts';
import { ensurePrograms } from './control-plane/build.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import { AGENT_IMAGE, loadAgentImages } from './cluster/global-setup.ts';
import { BUSYBOX_IMAGE } from './cluster/images.ts';
import { createPrograms } from './cluster/programs.ts';
import { requireKernelAccess } from './network/kernel-access.ts';

const usage = 'Usage: npm run playground -- [FOLDER] [--helm] [-c COMMAND]';
const { values, place } = readArguments();

const greeting = `
A Kubernetes ${KUBERNETES_VERSION} of your own with two nodes, node-a and node-b: API server, controllers, scheduler, kubelets, containerd, kube-proxy, kubectl${values.helm ? ', helm' : ''}.
docker build builds this project's image (with Buildah), docker push puts it on both nodes, ssh root@node-a is a shell of that node. There is no DNS.
busybox:1.37 is on the nodes, and the agent's image as ${AGENT_IMAGE.journal} and ${AGENT_IMAGE.plain}. $CLUSTER lets the tests of test/e2e/cluster use this cluster.
Leave with "exit" or Ctrl-D: the cluster goes with all that is in it. Files that you make in ${place} stay.
`;

const stopping = new AbortController();
let shell: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    stopping.abort(new Error(`ended by ${signal}`));
    // The terminal has already sent Ctrl-C to the shell, and an interactive shell continues after it.
    if (signal !== 'SIGINT') shell?.kill('SIGHUP');
  });
}

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-playground-'));
let end: (() => Promise<void>) | undefined;
try {
  process.stderr.write('Starting a cluster, about a minute once its programs and images are built ...\n');
  requireKernelAccess();
  await installPrograms('e2e');
  await buildBundle();
  const started = await startCluster(['node-a', 'node-b'], stopping.signal);
  end = started.end;
  await loadAgentImages(started.cluster);
  await started.cluster.load(BUSYBOX_IMAGE);
  const programs = createPrograms(folder, started.cluster);
  if (values.helm) symlinkSync((await ensurePrograms(['helm'])).helm, join(programs, 'helm'));
  process.stderr.write(`${greeting}\n`);
  process.exitCode = await runShell(started.cluster, programs);
} catch (error) {
  // If the run was interrupted, a later failure is not the reason.
  const reason: unknown = stopping.signal.aborted ? stopping.signal.reason : error;
  process.stderr.write(`[playground] ${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.exitCode = 1;
} finally {
  await end?.();
  rmSync(folder, { recursive: true, force: true });
}

/** Its exit status; 128 plus the signal's number if a signal ended it. */
async function runShell({ controlPlane }: Cluster, programs: string): Promise<number> {
  // Keeps the files of kubectl, helm and an installed plugin apart from those of the user.
  const home = join(folder, 'home');
  const ownPrograms = join(home, '.local/bin');
  mkdirSync(ownPrograms, { recursive: true });
  writeFileSync(join(home, '.bashrc'), String.raw`PS1='playground:\w\$ '`);
  const isInteractive = values.command === undefined && process.stdin.isTTY;
  const args = values.command === undefined ? [] : ['-c', values.command];
  shell = spawn('bash', isInteractive ? ['-i'] : args, {
    cwd: place,
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: [ownPrograms, programs, process.env['PATH']].join(delimiter),
      HOME: home,
      KUBECONFIG: controlPlane.adminKubeconfig,
      CLUSTER: join(folder, 'cluster.json'),
    },
  });
  const [code, signal] = (await once(shell, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Ends the process with status 64 if they are wrong. */
function readArguments(): { values: { helm: boolean; command?: string }; place: string } {
  try {
    const given = parseArgs({
      allowPositionals: true,
      options: { helm: { type: 'boolean', default: false }, command: { type: 'string', short: 'c' } },
    });
    const [folderGiven = join(import.meta.dirname, '../..')] = given.positionals;
    // npm runs scripts in the checkout, wherever npm was started.
    const begin = resolve(process.env['INIT_CWD'] ?? '', folderGiven);
    if (!statSync(begin).isDirectory()) throw new Error(`${begin} is no folder`);
    return { values: given.values, place: begin };
  } catch (error) {
    process.stderr.write(`[playground] ${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
    return process.exit(64);
  }
}
