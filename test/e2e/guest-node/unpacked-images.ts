import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeArchive } from '../cluster/images.ts';
import type { NodeData } from '../cluster/node.ts';
import type { NodePlace } from '../cluster/node-configuration.ts';
import { run } from '../network/command.ts';
import { until } from '../until.ts';

/**
 * Makes a folder as containerd would have it on a node with these images (images.ts), and returns its path: in the
 * guest, whose processor is emulated, their digests alone take minutes. `folder`: where it is made; `snapshotter`: one
 * that works there.
 */
export async function unpackImages(
  { containerd, ctr }: Pick<NodeData['binaries'], 'containerd' | 'ctr'>,
  images: readonly string[],
  folder: string,
  snapshotter: NodePlace['snapshotter'],
): Promise<string> {
  const [root, state] = [join(folder, 'containers'), join(folder, 'containerd-state')];
  mkdirSync(root);
  const configuration = join(folder, 'containerd.toml');
  writeFileSync(
    configuration,
    `version = 3\nroot = "${root}"\nstate = "${state}"\ndisabled_plugins = ["io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri"]\n`,
  );
  const socket = join(state, 'containerd.sock');
  const daemon = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', '--', containerd, '--config', configuration, '--address', socket],
    {
      env: { ...process.env, PATH: [dirname(containerd), process.env['PATH']].join(':') },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let log = '';
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const use = (...args: string[]): Promise<unknown> =>
    run(ctr, ['--address', socket, '--namespace', 'k8s.io', ...args]);
  try {
    const answers = (): Promise<boolean> =>
      use('version').then(
        () => true,
        () => false,
      );
    await until(answers, () => `[guest] containerd does not answer:\n${log.slice(-3000)}`);
    for (const image of images) {
      const archive = join(folder, 'image.tar');
      await writeArchive(image, archive);
      await use('images', 'import', '--local', '--snapshotter', snapshotter, archive);
      rmSync(archive);
    }
    return root;
  } finally {
    await end(daemon);
  }
}

async function end(daemon: ChildProcess): Promise<void> {
  const ended = daemon.exitCode === null ? once(daemon, 'close') : undefined;
  daemon.kill('SIGTERM');
  await ended;
}
