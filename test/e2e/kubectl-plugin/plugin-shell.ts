import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { CommandResult, Connection } from '../control-plane/connection.ts';

export const plugins = join(import.meta.dirname, '../../../deploy/kubectl-plugin');

/** A user's shell with the real kubectl and the plugins on its PATH. */
export interface PluginShell {
  /** `kubectl …`; `config`: another kubeconfig than the user's. */
  readonly kubectl: (args: readonly string[], config?: string) => Promise<CommandResult>;
  /** The same, left running in a process group of its own. */
  readonly start: (args: readonly string[]) => ChildProcessByStdio<null, Readable, Readable>;
  /** A kubeconfig whose current context has `namespace`, beside a context `shop` that has `other`. */
  readonly configWith: (namespace: string, other?: string) => string;
}

/** `folder`: the home of the user, whose own context has `namespace`. */
export function createPluginShell(connection: Connection, folder: string, namespace: string): PluginShell {
  const path = [plugins, dirname(connection.kubectlPath), process.env['PATH'] ?? ''].join(delimiter);
  const own = configWith(namespace);

  function configWith(current: string, other = current): string {
    const config = JSON.parse(readFileSync(connection.adminKubeconfig, 'utf8')) as { contexts: [{ context: object }] };
    const [{ context }] = config.contexts;
    const contexts = [
      { name: 'current', context: { ...context, namespace: current } },
      { name: 'shop', context: { ...context, namespace: other } },
    ];
    const file = join(folder, `${current}-${other}.kubeconfig`);
    writeFileSync(file, JSON.stringify({ ...config, contexts, 'current-context': 'current' }), { mode: 0o600 });
    return file;
  }

  const start = (args: readonly string[], config = own) =>
    spawn(connection.kubectlPath, args, {
      env: { PATH: path, KUBECONFIG: config, HOME: folder },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });

  return {
    configWith,
    start: (args) => start(args),
    async kubectl(args, config) {
      const child = start(args, config);
      const exited = new Promise<number>((resolve, reject) => {
        child.on('error', reject).on('close', (code) => resolve(code ?? -1));
      });
      const [code, stdout, stderr] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
      return { code, stdout, stderr };
    },
  };
}
