/**
 * A shell on a cluster of one's own, to try what the README and docs/ say:
 *
 *   npm run playground -- [FOLDER] [--node NAME] [--helm] [-c COMMAND]
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
import { ensureHelm } from './control-plane/build.ts';
import { type Cluster, startCluster } from './first-event-cluster.ts';
import { requireKernelAccess } from './network/kernel-access.ts';

const usage = 'Usage: npm run playground -- [FOLDER] [--node NAME] [--helm] [-c COMMAND]';
const { values, place } = readArguments();

const greeting = `
A Kubernetes ${KUBERNETES_VERSION} of your own with one node, ${values.node}. Real: API server, controllers, scheduler, kubectl${values.helm ? ', helm' : ''}, containers, Pod network, kernel log.
Played: docker build and push (of this project's image, the only one there is) and ssh root@${values.node}. Services and DNS do not work, but for the API server's.
Leave with "exit" or Ctrl-D: the cluster goes with all that is in it. Files that you make in ${place} stay.
`;

const stopping = new AbortController();
let shell: ChildProcess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    stopping.abort(new Error(`ended by ${signal}`));
    // Ctrl-C has reached it by itself, and an interactive shell goes on after it.
    if (signal !== 'SIGINT') shell?.kill('SIGHUP');
  });
}

const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-playground-'));
let cluster: Cluster | undefined;
try {
  process.stderr.write('Starting a cluster, a quarter of a minute once its programs are built ...\n');
  requireKernelAccess();
  await installPrograms('e2e');
  await buildBundle();
  cluster = await startCluster(folder, values.node, stopping.signal);
  if (values.helm) symlinkSync(await ensureHelm(), join(cluster.programs.path, 'helm'));
  process.stderr.write(`${greeting}\n`);
  process.exitCode = await runShell(cluster);
} catch (error) {
  // What fails because it was interrupted, too, is not the reason.
  const reason: unknown = stopping.signal.aborted ? stopping.signal.reason : error;
  process.stderr.write(`[playground] ${reason instanceof Error ? reason.message : String(reason)}\n`);
  process.exitCode = 1;
} finally {
  await cluster?.end();
  rmSync(folder, { recursive: true, force: true });
}

/** Its exit status; 128 and the signal's number where one ended it. */
async function runShell({ controlPlane, programs }: Cluster): Promise<number> {
  // What kubectl, helm and an installed plugin keep is not mixed with what is there already.
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
      PATH: [ownPrograms, programs.path, process.env['PATH']].join(delimiter),
      HOME: home,
      KUBECONFIG: controlPlane.adminKubeconfig,
    },
  });
  const [code, signal] = (await once(shell, 'exit')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Ends the process with status 64 where they are wrong. */
function readArguments(): { values: { node: string; helm: boolean; command?: string }; place: string } {
  try {
    const given = parseArgs({
      allowPositionals: true,
      options: {
        node: { type: 'string', default: 'node-a' },
        helm: { type: 'boolean', default: false },
        command: { type: 'string', short: 'c' },
      },
    });
    const [folderGiven = join(import.meta.dirname, '../..')] = given.positionals;
    // npm runs scripts in the checkout, wherever it was called.
    const begin = resolve(process.env['INIT_CWD'] ?? '', folderGiven);
    if (!statSync(begin).isDirectory()) throw new Error(`${begin} is no folder`);
    return { values: given.values, place: begin };
  } catch (error) {
    process.stderr.write(`[playground] ${error instanceof Error ? error.message : String(error)}\n${usage}\n`);
    return process.exit(64);
  }
}
