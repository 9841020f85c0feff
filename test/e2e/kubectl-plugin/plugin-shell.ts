import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { bundle } from '../bundle.ts';
import type { Connection } from '../control-plane/connection.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';

/** A user's shell with the real kubectl and the plugin on its PATH. */
export interface PluginShell {
  /** The folder where kubectl finds the plugin. */
  readonly plugin: string;
  /** `kubectl …`; `config`: another kubeconfig than the user's. */
  readonly kubectl: (args: readonly string[], config?: string) => Promise<Outcome>;
  /** The same, left running in a process group of its own. */
  readonly start: (args: readonly string[]) => ChildProcessByStdio<null, Readable, Readable>;
  /** A kubeconfig whose current context has `namespace`, beside a context `shop` that has `other`. */
  readonly configWith: (namespace: string, other?: string) => string;
  readonly env: Readonly<Record<string, string>>;
}

/** `folder`: the home of the user, whose own context has `namespace`. */
export function createPluginShell(connection: Connection, folder: string, namespace: string): PluginShell {
  const plugins = join(folder, 'plugins');
  const plugin = join(plugins, 'kubectl-drops');
  mkdirSync(plugins);
  symlinkSync(bundle, plugin);
  // The Node.js of the tests: `env node` of the bundle finds it.
  symlinkSync(process.execPath, join(plugins, 'node'));
  const path = [plugins, dirname(connection.kubectlPath), process.env['PATH'] ?? ''].join(delimiter);
  const own = configWith(namespace);
  const env = { PATH: path, HOME: folder };

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
      env: { ...env, KUBECONFIG: config },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });

  return {
    plugin,
    configWith,
    env: { ...env, KUBECONFIG: own },
    start: (args) => start(args),
    kubectl: (args, config) => outcomeOf(start(args, config)),
  };
}
