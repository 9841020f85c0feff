/** The dimensions of `npm run bench -- growth`: the growing part of each, and the files of each size. */
import { join } from 'node:path';
import { writeGrowthLog, writePolicies, writeSnapshot } from './inputs.ts';

export interface Dimension {
  name: string;
  sizes: readonly number[];
  /** Writes the files of a size into the folder; returns the arguments of the program. */
  prepare: (folder: string, size: number) => string[];
  /** The exit status: `why` ends with 1 for a connection that is refused. */
  status?: number;
}

const replay = ['replay', '--quiet'];

export function dimensionsOf(isFull: boolean): readonly Dimension[] {
  return [
    {
      name: 'lines, 1 in 10 a drop',
      sizes: isFull ? [10_000, 100_000, 1_000_000, 10_000_000] : [10_000, 100_000, 1_000_000],
      prepare: (folder, lines) => replayed(folder, 110, { lines, dropEvery: 10, pods: 110, senders: 2, hours: 1 }),
    },
    {
      name: 'flows of 200,000 drops',
      sizes: [200, 10_000, 200_000],
      prepare: (folder, flows) =>
        replayed(folder, 110, {
          lines: 200_000,
          pods: 100,
          senders: flows === 200_000 ? 'random' : flows / 100,
          hours: 0.1,
        }),
    },
    {
      name: 'Pods that started before the log, 20,000 drops in 10 hours',
      sizes: [1000, 5000, 20_000],
      prepare: (folder, pods) => replayed(folder, pods, tenHours(pods)),
    },
    {
      name: 'Pods that started during the log, 20,000 drops in 10 hours',
      sizes: [1000, 5000, 20_000],
      prepare: (folder, pods) => replayed(folder, pods, tenHours(pods), 10),
    },
    {
      name: 'hosts of 20,000 drops',
      sizes: isFull ? [1, 100, 1000, 5000, 20_000] : [1, 100, 1000, 5000],
      prepare: (folder, hosts) => replayed(folder, 1000, { lines: 20_000, pods: 1000, senders: 8, hosts, hours: 1 }),
    },
    {
      name: 'hours, with an Event for each of 1,000 Pods in each',
      sizes: isFull ? [1, 10, 50] : [1, 10],
      prepare: (folder, hours) => replayed(folder, 1000, { lines: hours * 1000, pods: 1000, senders: 1, hours }),
    },
    {
      name: 'Pods of --pods, as kubectl prints them',
      sizes: isFull ? [1000, 10_000, 50_000, 100_000] : [1000, 10_000, 30_000],
      prepare(folder, pods) {
        const [cluster, log] = [join(folder, 'cluster.json'), join(folder, 'kern.log')];
        writeSnapshot(cluster, { pods, isWhole: true });
        writeGrowthLog(log, { lines: 1000, pods: 1000, senders: 1, hours: 1 });
        return [...replay, '--pods', cluster, log];
      },
    },
    {
      name: 'KB of annotations of each of 2,000 Pods of --pods',
      sizes: isFull ? [1, 10, 100, 250] : [1, 10, 100],
      prepare(folder, kilobytes) {
        const [cluster, log] = [join(folder, 'cluster.json'), join(folder, 'kern.log')];
        writeSnapshot(cluster, { pods: 2000, annotation: kilobytes * 1000 });
        writeGrowthLog(log, { lines: 1000, pods: 1000, senders: 1, hours: 1 });
        return [...replay, '--pods', cluster, log];
      },
    },
    {
      name: 'files of 100,000 lines',
      sizes: [1, 100, 1000],
      prepare(folder, files) {
        const cluster = join(folder, 'cluster.json');
        writeSnapshot(cluster, { pods: 110 });
        const logs = Array.from({ length: files }, (_, file) => join(folder, `kern-${file}.log`));
        for (const log of logs)
          writeGrowthLog(log, { lines: 100_000 / files, dropEvery: 10, pods: 110, senders: 2, hours: 1 });
        return [...replay, '--pods', cluster, ...logs];
      },
    },
    {
      name: 'policies of the Pod, why',
      sizes: [10, 100, 1000, 10_000],
      prepare: (folder, policies) => asked(folder, { policies }),
      status: 1,
    },
    {
      name: 'rules of one policy, why',
      sizes: [10, 100, 1000, 10_000],
      prepare: (folder, rules) => asked(folder, { rules }),
      status: 1,
    },
    {
      name: 'Pods beside the two, why',
      sizes: isFull ? [100, 1000, 10_000, 50_000] : [100, 1000, 10_000],
      prepare: (folder, pods) => asked(folder, { pods }),
      status: 1,
    },
  ];
}

type Log = Parameters<typeof writeGrowthLog>[1];

/** Packets come to each Pod after it has started, whether it started before the log or during it. */
function tenHours(pods: number): Log {
  return { lines: 20_000, pods, senders: 1, hours: 10, receiver: 'as time passes' };
}

function replayed(folder: string, pods: number, log: Log, startedDuring = 0): string[] {
  const [cluster, kernel] = [join(folder, 'cluster.json'), join(folder, 'kern.log')];
  writeSnapshot(cluster, { pods, startedDuring });
  writeGrowthLog(kernel, log);
  return [...replay, '--pods', cluster, kernel];
}

function asked(folder: string, counts: Parameters<typeof writePolicies>[1]): string[] {
  const objects = join(folder, 'policies.json');
  writePolicies(objects, counts);
  return ['why', '--from', 'bench/client', '--to', 'bench/web', '--port', '80', '--policies', objects];
}
