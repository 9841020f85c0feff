import { appendFileSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { podObject } from '../../e2e/agent-rig.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';
import { createObjects } from '../../e2e/control-plane/objects.ts';
import type { Lengths, Run } from './phases.ts';
import type { Expected } from './totals.ts';

const tables: { containers: Container[] } = {
  // Containers of the soak test: the cause of their failures, a healthy record, and the lines of a failure.
  containers: [
    {
      name: 'kube-proxy',
      code: 'KN102',
      healthy:
        'I0314 09:15:20.101234       1 bounded_frequency_runner.go:296] "Syncing iptables rules" ipFamily="IPv4"',
      failure: [
        'E0314 09:15:20.101234       1 proxier.go:1564] "Failed to execute iptables-restore" err=<',
        "\texit status 2: iptables-restore v1.8.8 (legacy): Couldn't load target `KUBE-SVC-Q5DTBKX2YJ7RCW6N':No such file or directory",
        '\t',
        '\tError occurred at line: 41',
        ' > ipFamily="IPv4"',
      ],
    },
    {
      name: 'calico-node',
      code: 'KN201',
      healthy:
        '2026-03-14 09:15:20.101 [INFO][61] felix/summary.go 100: Summarising 12 dataplane reconciliation loops over 1m2s',
      failure: [
        '2026-03-14 09:15:20.101 [WARNING][61] felix/table.go 1543: Failed to execute ip(6)tables-restore command error=exit status 2 errorOutput="iptables-restore v1.8.4 (legacy): Couldn\'t load target `cali-POSTROUTING\':No such file or directory\\n\\nError occurred at line: 3\\n" ipVersion=0x4 table="nat"',
      ],
    },
  ],
};

/** A container whose log has healthy records all the time and, in episodes, failures of one cause. */
interface Container {
  readonly name: 'kube-proxy' | 'calico-node';
  readonly code: string;
  readonly healthy: string;
  /** The lines of one record. */
  readonly failure: readonly string[];
}

const containers: readonly Container[] = tables.containers;

/** More than the two seconds within which lines belong to one attempt. */
const betweenFailures = 8000;
const failuresInEpisode = 4;
const betweenHealthy = 500;

/** Logs of both containers of a node, as containerd writes them and the kubelet rotates them. */
export async function createContainerLogs(
  connection: Connection,
  node: string,
  podLogs: string,
  { run, lengths, expected }: { run: Run; lengths: Lengths; expected: Expected },
) {
  let rotations = 0;
  const logs: CriLog[] = [];
  for (const { name } of containers) {
    const pod = `${name}-x7k2p`;
    const object = podObject({ namespace: 'kube-system', name: pod, node, addresses: ['192.0.2.1'] });
    const created = await createObjects(connection, { items: [object] });
    const uid = created.at(-1)?.metadata.uid ?? '';
    logs.push(createCriLog(join(podLogs, `kube-system_${pod}_${uid}`, name)));
  }

  return {
    get rotations(): number {
      return rotations;
    },
    /** Writes until the end of the run. */
    async play(): Promise<void> {
      await Promise.all(containers.map((container, index) => playOne(container, logs[index] as CriLog)));
    },
  };

  async function playOne(container: Container, log: CriLog): Promise<void> {
    await Promise.all([healthy(container, log), failing(container, log), rotating(log)]);
  }

  function write(log: CriLog, lines: readonly string[]): void {
    for (const line of lines) log.write(line);
  }

  async function healthy({ healthy: line }: Container, log: CriLog): Promise<void> {
    for (; !run.isOver; await run.wait(betweenHealthy)) write(log, [line]);
  }

  async function failing({ code, failure }: Container, log: CriLog): Promise<void> {
    for (; !run.isOver; await run.wait(lengths.episode)) {
      for (let number = 0; number < failuresInEpisode && !run.isOver; number++) {
        write(log, failure);
        expected.set(`Node ${code}`, (expected.get(`Node ${code}`) ?? 0) + 1);
        await run.wait(betweenFailures);
      }
    }
  }

  async function rotating(log: CriLog): Promise<void> {
    for (;;) {
      await run.wait(2 * lengths.rotation);
      if (run.isOver) return;
      log.rotate();
      rotations++;
    }
  }
}

type CriLog = ReturnType<typeof createCriLog>;

/**
 * The log of a container as containerd writes it and the kubelet rotates it.
 * Format: https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md
 */
function createCriLog(folder: string) {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, '0.log');
  return {
    /** Writes one line that the container printed, without its line break. */
    write: (line: string): void => appendFileSync(path, `${nanoseconds()} stderr F ${line}\n`),
    /** Renames the file, and begins a new one under the old name. */
    rotate(): void {
      const stamp = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
      renameSync(path, `${path}.${stamp.replace('T', '-')}`);
    },
  };
}

/** Returns nine digits, although the clock here has only six. */
function nanoseconds(): string {
  const time = performance.timeOrigin + performance.now();
  const micros = Math.floor((time % 1) * 1000);
  return new Date(time).toISOString().replace('Z', `${String(micros).padStart(3, '0')}000Z`);
}
