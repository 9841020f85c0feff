/**
 * `npm run bench -- memory`: the smallest limit of a cgroup, page cache included, in which the built bundle does its work without being
 * killed and without reading its own files from the disk again and again. Needs root.
 *
 *     npm run bench -- memory                              every situation
 *     npm run bench -- memory idle storm                some
 *     npm run bench -- memory --against FOLDER          compared with another checkout, in turns
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import type { Connection } from '../e2e/control-plane/connection.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { createDisk } from '../e2e/faults/disk.ts';
import { preparePrograms } from '../programs/install.ts';
import { agentToken, createPods } from './cluster.ts';
import { createImage, type Image } from './memory/image.ts';
import { firstStormPod, idle, replay, type Scene, type Situation, storm, stormPods } from './memory/situations.ts';
import { type Smallest, smallestLimit } from './memory/smallest.ts';
import { memoryLimits } from './measured.ts';
import { writeLog } from './lines.ts';
import { benchNode, writeCluster } from './pods.ts';

type Name = keyof typeof memoryLimits;

const mebibyte = 1024 * 1024;
const unlimited = 2048;
const podsPerNode = 100;
/** In the order in which the cluster grows. */
const situations: Readonly<Record<Name, Situation>> = {
  idle: idle('node-000'),
  pods: idle('node-001'),
  replay,
  storm: storm('node-002'),
  clusterCache: idle('node-001', { POD_CACHE: 'cluster' }),
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: 'string' },
    pods: { type: 'string', default: '20000' },
    'storm-seconds': { type: 'string', default: '60' },
    step: { type: 'string', default: '4' },
  },
});
const chosen = Object.keys(situations).filter((name) => positionals.length === 0 || positionals.includes(name));

await preparePrograms('measuring');
const folder = mkdtempSync(join(tmpdir(), 'kube-netfilter-tailer-bench-'));
const disk = await createDisk(folder, '512M');
readAsNode(disk.folder);
const images = createImages();
const plane = chosen.every((name) => name === 'replay') ? undefined : await startControlPlane();
const rows = [
  ['', 'image', 'smallest limit', 'aim', 'resident in it', 'resident, no limit', 'anonymous', 'peak, no limit', 'CPU'],
];
try {
  const scene = await createScene(plane);
  for (const name of chosen as Name[]) {
    if (plane !== undefined) await growCluster(plane, name);
    for (const image of images) rows.push(rowOf(name, image, await measure(name, image, scene)));
  }
} finally {
  console.log(
    `\n${alignColumns(rows).join('\n')}\nsteps of ${values.step} MiB; CPU without a limit, in the window that is watched`,
  );
  await plane?.stop();
  await disk.remove();
  rmSync(folder, { recursive: true });
}

/**
 * The file behind the disk must not be in the page cache either. Read-ahead is set to a node's default, because pages
 * that are read ahead count in the cgroup, and some machines read ahead megabytes.
 */
function readAsNode(mount: string): void {
  const [, device = ''] =
    new RegExp(`^(/dev/\\S+) ${RegExp.escape(mount)} `, 'm').exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
  execFileSync('losetup', ['--direct-io=on', device]);
  writeFileSync(`/sys/block/${basename(device)}/queue/read_ahead_kb`, '128');
}

function createImages(): Image[] {
  const checkouts = [...(values.against === undefined ? [] : [values.against]), join(import.meta.dirname, '../..')];
  return checkouts.map((checkout, index, { length }) => {
    const name = index === length - 1 ? 'this' : 'against';
    return createImage(join(disk.folder, name), name, checkout);
  });
}

async function createScene(connection: Connection | undefined): Promise<Scene> {
  const account = join(folder, 'account');
  mkdirSync(account);
  if (connection !== undefined) {
    writeFileSync(join(account, 'token'), await agentToken(connection));
    writeFileSync(join(account, 'ca.crt'), connection.certificateAuthority);
    writeFileSync(join(account, 'namespace'), 'kube-netfilter-tailer');
    await createObjects(connection, { items: [benchNode(0), benchNode(1), benchNode(2)] });
    await createPods(connection, 0, firstStormPod, () => 1);
  }
  const saved = { cluster: join(folder, 'cluster.json'), log: join(folder, 'kern.log') };
  if (chosen.includes('replay')) {
    writeCluster(saved.cluster, 110);
    writeLog(saved.log, '1 drop in 10', 1e9, 110);
  }
  const server = new URL(connection?.server ?? 'https://127.0.0.1');
  return { folder, account, server, stormSeconds: Number(values['storm-seconds']), saved };
}

/** The storm needs the Pods of its node; the cluster cache needs all Pods. */
async function growCluster(connection: Connection, name: Name): Promise<void> {
  const first = firstStormPod + stormPods;
  if (name === 'storm') await createPods(connection, firstStormPod, first, () => 2);
  if (name === 'clusterCache')
    await createPods(connection, first, Number(values.pods), (number) => 3 + Math.floor(number / podsPerNode));
}

async function measure(name: Name, image: Image, scene: Scene): Promise<Smallest> {
  const step = Number(values.step);
  const trial = (limit = unlimited) => situations[name](scene, image, limit * mebibyte);
  return await smallestLimit(trial, { lowest: 32, highest: 256, step }, (limit, outcome, short) => {
    const { window, refaults, peakBytes } = outcome;
    console.error(
      `${name} ${image.name} ${limit ?? 'no limit'}: ${short ?? 'enough'} ` +
        `(${window.majorFaults} major faults, ${refaults} refaults, CPU ${window.cpuSeconds.toFixed(2)} s, ` +
        `resident ${megabytes(window.residentBytes)}, anonymous ${megabytes(window.anonymousBytes)}, peak ${megabytes(peakBytes)})`,
    );
  });
}

function rowOf(name: Name, image: Image, { limit, at, free }: Smallest): string[] {
  return [
    memoryLimits[name].what.replaceAll('`', ''),
    image.name,
    limit === undefined ? (free.failed ?? 'none') : `${limit} MiB`,
    `${memoryLimits[name].aim} MiB`,
    at === undefined ? '' : megabytes(at.window.residentBytes),
    megabytes(free.window.residentBytes),
    megabytes(free.window.anonymousBytes),
    megabytes(free.peakBytes),
    `${free.window.cpuSeconds.toFixed(1)} s`,
  ];
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / mebibyte)} MiB`;
}
