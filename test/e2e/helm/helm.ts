import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { chartFolder } from '../../../scripts/helm-chart.ts';
import { root } from '../../deploy/manifests.ts';
import { ensurePrograms } from '../control-plane/build.ts';
import { type Outcome, outcomeOf } from '../outcome.ts';
import { createOwnFolder } from '../own-folder.ts';

export const chart = join(root, chartFolder);

/** Values as a user's own file has them. */
export type Values = Readonly<Record<string, unknown>>;

export interface Helm {
  readonly path: string;
  /** Runs helm in the project's folder; resolves whatever its exit code. `values` are passed in a file. */
  readonly run: (args: readonly string[], values?: Values) => Promise<Outcome>;
  /** Objects as text; rejects with helm's message. */
  readonly template: (values?: Values, place?: { release?: string; namespace?: string }) => Promise<string>;
  /** A folder for its files, and for those of tests. */
  readonly folder: string;
  readonly remove: () => Promise<void>;
}

/** A checkout does not name an image. */
const image: Values = { image: { repository: 'kube-netfilter-tailer' } };

const ours = 'kube-netfilter-tailer';

/**
 * The real helm for all tests of a file; later hooks may use it as well. `kubeconfig`: for the cluster that it may
 * change.
 */
export function helmOfFile(kubeconfig?: string): Helm {
  const helm = {} as Helm;
  // Helm is built if it is not there yet.
  beforeAll(async () => void Object.assign(helm, await createHelm(kubeconfig)), 900_000);
  afterAll(() => helm.remove());
  return helm;
}

async function createHelm(kubeconfig?: string): Promise<Helm> {
  const { helm: path } = await ensurePrograms(['helm']);
  const folder = createOwnFolder('helm');
  // Otherwise it would use a user's configuration of this machine.
  const env = {
    PATH: process.env['PATH'],
    HOME: folder,
    HELM_CACHE_HOME: join(folder, 'cache'),
    HELM_CONFIG_HOME: join(folder, 'config'),
    HELM_DATA_HOME: join(folder, 'data'),
    KUBECONFIG: kubeconfig ?? join(folder, 'none'),
  };

  const run: Helm['run'] = async (args, values) => {
    // Only commands that make objects need an image, and refuse to run without one.
    const files = [
      ...(['template', 'install', 'upgrade', 'lint'].includes(args[0] ?? '') ? [image] : []),
      ...(values === undefined ? [] : [values]),
    ];
    const given = (await Promise.all(files.map(fileOf))).flatMap((file) => ['--values', file]);
    return outcomeOf(spawn(path, [...args, ...given], { cwd: root, env }));
  };

  async function fileOf(values: Values): Promise<string> {
    const file = join(await mkdtemp(join(folder, 'values-')), 'values.yaml');
    await writeFile(file, JSON.stringify(values));
    return file;
  }

  return {
    path,
    run,
    folder,
    remove: () => rm(folder, { recursive: true, force: true }),
    async template(values, { release = ours, namespace = ours } = {}) {
      const { code, stdout, stderr } = await run(['template', release, chart, '--namespace', namespace], values);
      if (code !== 0) throw new Error(stderr);
      return stdout;
    },
  };
}
