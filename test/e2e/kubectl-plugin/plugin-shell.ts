import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { bundle } from '../bundle.ts';
import type { Connection } from '../control-plane/connection.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';

export type PluginShell = ReturnType<typeof createPluginShell>;

/**
 * A user's shell with the real kubectl and the plugin on its PATH. `folder`: the user's home. The user's own context
 * has `namespace`.
 */
export function createPluginShell(connection: Connection, folder: string, namespace: string) {
  const plugins = join(folder, 'plugins');
  const plugin = join(plugins, 'kubectl-drops');
  mkdirSync(plugins);
  symlinkSync(bundle, plugin);
  // The Node.js of the tests, which `env node` of the bundle finds.
  symlinkSync(process.execPath, join(plugins, 'node'));
  const path = [plugins, dirname(connection.kubectlPath), process.env['PATH'] ?? ''].join(delimiter);
  const own = configWith(namespace);
  const env = { PATH: path, HOME: folder };

  /** A kubeconfig whose current context has the namespace `current`; its context `shop` has `other`. */
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
    /** The folder where kubectl finds the plugin. */
    plugin,
    configWith,
    env: { ...env, KUBECONFIG: own },
    /** `kubectl …`, left running in a process group of its own. */
    start: (args: readonly string[]) => start(args),
    /** Runs it to its end. `config`: a kubeconfig other than the user's. */
    kubectl: (args: readonly string[], config?: string): Promise<Outcome> => outcomeOf(start(args, config)),
  };
}
