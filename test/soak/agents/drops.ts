import type { Millis } from '../../../src/base/model/log-line.ts';
import { dropLine, podObject } from '../../e2e/agent-rig.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';
import { createObjects } from '../../e2e/control-plane/objects.ts';
import type { Network } from '../../e2e/network/network.ts';
import { createLiveFile } from '../live-file.ts';
import { planRotation, type Style } from '../rotation.ts';
import type { ApiFaults } from './api-faults.ts';
import type { Lengths, Run } from './phases.ts';
import type { Expected } from './totals.ts';

/** Two Pods in a row of generations with the same addresses. One of them connects to the other without success. */
export interface Pair {
  readonly namespace: string;
  readonly web: string;
  readonly db: string;
}

export interface PairOptions {
  readonly pair: Pair;
  readonly node: string;
  readonly connection: Connection;
  readonly api: Pick<ApiFaults, 'isWell'>;
  readonly lengths: Lengths;
  readonly run: Run;
  readonly expected: Expected;
  /** Resolves when both agents have heard of Pods since then (Unix ms), or at the end of the run. */
  readonly untilHeard: (since: Millis) => Promise<void>;
  /**
   * Resolves when both agents have counted all drops of these Pods and have the counts on disk, or at the end of the
   * run.
   */
  readonly untilKept: (subjects: readonly string[]) => Promise<void>;
  /** Logs some drops from web to db on that port, for about a second. Resolves to their number. */
  readonly drop: (port: number) => Promise<number>;
}

/**
 * One port for each generation: with an Event for each port of each Pod, a node would exceed what it may write in an
 * hour.
 */
const ports = [5432, 6379, 8080];

/** From the first news of a Pod to its first drop: longer than a watch takes to show all of the Pod. */
const settling = 5000;

/**
 * Plays generations of the pair until the end of the run. Each generation has the addresses of the one before. Returns
 * their number.
 */
export async function playPair(options: PairOptions): Promise<number> {
  const { pair, connection, lengths, run, expected } = options;
  for (let generation = 1; ; generation++) {
    await untilServed(options);
    const port = ports[generation % ports.length] as number;
    const names = [`web-${generation}`, `db-${generation}`];
    const subjects = names.map((name) => `Pod ${pair.namespace}/${name}`);
    const created = Date.now();
    await createObjects(connection, { items: objectsOf(options, names) });
    await options.untilHeard(created);
    await run.wait(settling);
    const end = performance.now() + lengths.busy;
    while (!run.isOver && performance.now() < end) {
      const count = await options.drop(port);
      for (const subject of subjects) expected.set(subject, (expected.get(subject) ?? 0) + count);
    }
    // For an agent that was away, the address of a Pod on another node has no owner once the Pod is deleted.
    await options.untilKept(subjects);
    await untilServed(options);
    // The Pods of the last generation stay, because Events that are not published yet are about them.
    if (run.isOver) return generation;
    await Promise.all(names.map((name) => remove(connection, pair.namespace, name)));
  }
}

/**
 * If an agent is cut off while a Pod comes and goes, it never sees the Pod, so its drops would belong to an unknown
 * address.
 */
async function untilServed({ api, run }: PairOptions): Promise<void> {
  while (!run.isOver && !api.isWell) await run.wait(200);
}

function objectsOf({ pair, node }: PairOptions, [web = '', db = '']: readonly string[]) {
  const common = { namespace: pair.namespace, node, startTime: new Date().toISOString().replace(/\.\d+/, '') };
  return [
    podObject({ ...common, name: web, addresses: [pair.web] }),
    podObject({ ...common, name: db, addresses: [pair.db] }),
  ];
}

async function remove(connection: Connection, namespace: string, name: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`;
  const { status } = await connection.request('DELETE', path);
  if (status !== 200) throw new Error(`deleting ${path}: ${status}`);
}

/** Real packets that the kernel logs and drops: 10 within a second or two. */
export function kernelDrops(network: Network, run: Run, from: string, to: string): PairOptions['drop'] {
  let turn = 0;
  return async (port) => {
    const protocol = turn++ % 2 === 0 ? 'udp' : 'tcp';
    await network.send({ from, to, family: 4, protocol, port, count: 10 });
    await run.wait(1500);
    return 10;
  };
}

/**
 * Rotated alternately as logrotate does with `create` and with `copytruncate`, and kept until they were surely read.
 */
const styles: readonly Style[] = ['create', 'copytruncate'];
const keep = 60;

export function createFileLog(path: string, pair: Pair, lengths: Lengths, run: Run) {
  const live = createLiveFile(path);
  let rotations = 0;
  let line = 0;
  let lastRotation = performance.now();

  return {
    get rotations(): number {
      return rotations;
    },
    /** 20 lines, ten times a second. */
    async drop(this: void, port: number): Promise<number> {
      for (let batch = 0; batch < 10; batch++) {
        let text = '';
        for (let each = 0; each < 20; each++) {
          const id = line++;
          text += dropLine(pair.web, pair.db, port).replace(' kernel: ', ' ulogd[7]: ').replace('ID=4711', `ID=${id}`);
        }
        live.write(text);
        await run.wait(100);
      }
      if (performance.now() - lastRotation > lengths.rotation) await rotate();
      return 200;
    },
  };

  async function rotate(): Promise<void> {
    lastRotation = performance.now();
    const style = styles[rotations++ % styles.length] as Style;
    for (const { after, act } of planRotation({ style, path, lag: 20, keep, endLine: () => {} }, rotations, live)) {
      await run.wait(after);
      act();
    }
  }
}
