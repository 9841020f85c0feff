import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { daemonSetOf, readManifests, root } from '../../deploy/manifests.ts';
import { run } from '../network/command.ts';

/** Tests that the mounts of the component are enough, for root without capabilities in a network namespace and a process namespace of its own. */

const pod = daemonSetOf(readManifests('deploy/components/conntrack-details/conntrack-details.yaml')).spec.template.spec;
const [agent] = pod.containers;
const procRoot = agent?.env?.find(({ name }) => name === 'PROC_ROOT')?.value ?? '';

/** Stands for the root of the container. */
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-details-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("how full the host's table is, and who fills it, can be read through it, and not without it", async () => {
  const max = Number((await run('cat', ['/proc/sys/net/netfilter/nf_conntrack_max'])).stdout);
  expect(await seenAt(join(folder, procRoot))).toEqual([
    { count: expect.any(Number) as number, max },
    expect.objectContaining({ complete: true }),
  ]);
  expect(await seenAt('/proc')).toEqual([{ max }, null]);
});

/** Returns what the program reads of the host's table, with that `PROC_ROOT`. */
async function seenAt(path: string): Promise<unknown> {
  const program = `
    import { createProc } from ${JSON.stringify(pathToFileURL(join(root, 'src/platform/proc.ts')).href)};
    const proc = createProc(${JSON.stringify(path)});
    console.log(JSON.stringify([await proc.conntrack(undefined), await proc.topSources(undefined) ?? null]));`;
  return JSON.parse(await inside(`exec ${process.execPath} --input-type=module -e '${program}'`));
}

/** Returns what a command of the shell prints where the component's volumes are mounted. */
async function inside(command: string): Promise<string> {
  const mounts = (agent?.volumeMounts ?? []).map(({ name, mountPath }) => {
    const from = pod.volumes?.find((volume) => volume.name === name)?.hostPath?.path ?? '';
    const to = join(folder, mountPath);
    return `mkdir -p ${to}; mount --bind ${from} ${to}; mount -o remount,bind,ro ${to};`;
  });
  const rights = 'setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs';
  const script = `${mounts.join(' ')} exec unshare --net --pid --fork --mount-proc ${rights} sh -ec "$1"`;
  const { stdout } = await run('unshare', ['--mount', '--propagation', 'private', 'sh', '-ec', script, 'sh', command]);
  return stdout;
}
