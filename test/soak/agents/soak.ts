import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { alignColumns } from '../../../src/cli/describe.ts';
import { createAgentRig, nodeObject } from '../../e2e/agent-rig.ts';
import { buildBundle } from '../../e2e/bundle.ts';
import { type ControlPlane, startControlPlane } from '../../e2e/control-plane/control-plane.ts';
import { createObjects } from '../../e2e/control-plane/objects.ts';
import { type Journald, startJournald } from '../../e2e/journal/rig.ts';
import { createNetwork, type Network } from '../../e2e/network/network.ts';
import { preparePrograms } from '../../programs/install.ts';
import { createRandom } from '../random.ts';
import { scratchFolder } from '../scratch-folder.ts';
import {
  counterOf,
  killAgain,
  type Memory,
  slopeOf,
  type SoakedAgent,
  startSoaked,
  untilHeard,
  watchMemory,
} from './agents.ts';
import { type ApiFaults, createApiFaults } from './api-faults.ts';
import { createContainerLogs } from './container-logs.ts';
import { createFileLog, kernelDrops, type Pair, playPair } from './drops.ts';
import { createRun, lengthsFor, type Lengths, type Run } from './phases.ts';
import { createTotals, type Difference, type Expected, type Totals } from './totals.ts';

/** The agents, by node: one runs all the time, the other is killed again and again. Both read the same logs. */
const nodes = ['soak-steady', 'soak-killed'] as const;

/** A series that was often written may wait this long until it is written again. */
const longestSettling = 960_000;

/**
 * A flat line may still show this many bytes per hour: the heap is what is in use, while resident memory also varies
 * with the allocator.
 */
const flat = { heap: 3e6, rss: 10e6 };
/** Over less time, the slope would be that of the start. */
const verdictMinutes = 20;

interface Place {
  readonly plane: ControlPlane;
  readonly api: ApiFaults;
  readonly network: Network;
  readonly journald: Journald;
  readonly folder: string;
  readonly pairs: Readonly<Record<'kernel' | 'file', Pair>>;
}

/**
 * Agents with all sources, at a real API server: packets that a real kernel logs, read from the ring buffer and a real
 * journal; a log file that is rotated; and logs of kube-proxy and calico-node. During the run one agent is killed, the
 * API server is away, refuses and fails, and Pods are replaced by others with the same addresses. Resolves to the exit
 * status: 0 if everything was counted once. The file has lines of ulogd: three sources may have the kernel's own lines,
 * of which only those of the ring buffer count.
 */
export async function soakAgents(minutes: number, seed: number): Promise<number> {
  console.log(`seed ${seed}`);
  await preparePrograms('e2e');
  await buildBundle();
  const plane = await startControlPlane();
  const folder = scratchFolder('soak-agents');
  const journald = await startJournald();
  const pairs = pairsOfThisRun();
  const network = await createNetwork({
    backend: 'iptables-nft',
    pods: [
      { namespace: 'soak', name: 'web', addresses: [pairs.kernel.web] },
      { namespace: 'soak', name: 'db', addresses: [pairs.kernel.db] },
    ],
  });
  const api = await createApiFaults(plane);
  try {
    await network.refuse();
    return await play({ plane, api, network, journald, folder, pairs }, minutes, seed);
  } finally {
    await Promise.all([network.destroy(), journald.stop(), api.stop()]);
    await plane.stop();
  }
}

/** Addresses that no other run of today has, because the kernel's log still has the lines of earlier runs. */
function pairsOfThisRun(): Place['pairs'] {
  const head = `10.${randomInt(100, 200)}.${randomInt(256)}`;
  return {
    kernel: { namespace: 'soak-kernel', web: `${head}.10`, db: `${head}.20` },
    file: { namespace: 'soak-file', web: `${head}.30`, db: `${head}.40` },
  };
}

async function play(place: Place, minutes: number, seed: number): Promise<number> {
  const { plane, api, network, journald, folder, pairs } = place;
  const rig = await createAgentRig(plane);
  const KUBECONFIG = api.kubeconfigOf(rig.kubeconfig, join(folder, 'kubeconfig'));
  try {
    await createObjects(plane, { items: nodes.map((name, index) => nodeObject(name, `192.0.2.${10 + index}`)) });
    const [run, lengths, expected] = [createRun(), lengthsFor(minutes), new Map() as Expected];
    const common = { node: nodes[0], connection: plane, api, lengths, run, expected };
    const log = join(folder, 'kern.log');
    const podLogs = join(folder, 'pods');
    const fileLog = createFileLog(log, pairs.file, lengths, run);
    const containerLogs = await createContainerLogs(plane, nodes[0], podLogs, common);
    const sources = `kernel,journal:${journald.directory},containers,file:${log}`;
    const settings = { KUBECONFIG, SOURCES: sources, POD_LOGS: podLogs };
    const [steady, killed] = nodes.map((node) => startSoaked(rig, node, settings)) as [SoakedAgent, SoakedAgent];
    await Promise.all([steady.process.untilReady(), killed.process.untilReady()]);

    const totals = createTotals(plane);
    const players = {
      ...common,
      untilHeard: async (since: number) => {
        for (const agent of [steady, killed]) await untilHeard(agent, since, run);
      },
      untilKept: async (subjects: readonly string[]) => {
        const isKept = (agent: SoakedAgent): boolean => {
          const kept = agent.kept();
          return subjects.every((each) => totals.keptBy(agent.node, each, kept) >= (expected.get(each) ?? 0));
        };
        for (const agent of [steady, killed])
          for (await totals.look(); !run.isOver && !isKept(agent); await totals.look()) await run.wait(500);
      },
    };
    const kernel = kernelDrops(network, run, 'soak/web', 'soak/db');
    const ending = setTimeout(run.end, minutes * 60_000);
    const [kernelPods, filePods, , kills, faults, memory] = await Promise.all([
      playPair({ ...players, pair: pairs.kernel, drop: kernel }),
      playPair({ ...players, pair: pairs.file, drop: fileLog.drop }),
      containerLogs.play(),
      killAgain(killed, lengths, run, createRandom(seed)),
      disturb(api, lengths, run),
      watchMemory(steady, lengths.sample, run),
      showProgress(run, totals, expected),
    ]).catch((error: unknown) => {
      run.end();
      throw error;
    });
    clearTimeout(ending);

    const isFlat = reportMemory(memory, minutes);
    const differences = await settle(totals, expected);
    report(totals, expected);
    const done = { kills, faults, refused: api.refused, generations: kernelPods + filePods };
    const rotations = { file: fileLog.rotations, containers: containerLogs.rotations };
    console.log(`\n${describe(done)}; rotations: ${describe(rotations)}`);
    console.log(`${nodes[0]}: ${describe(await losses(steady))}`);
    console.log(`${nodes[1]}, since it was started last: ${describe(await losses(killed))}`);
    for (const { agent, subject, expected: wanted, counted } of differences)
      console.log(`${agent}, ${subject}: ${counted} counted of ${wanted}`);
    const passed = differences.length === 0 && isFlat;
    console.log(`\nsoak of all sources: ${passed ? 'passed' : 'FAILED'}`);
    return passed ? 0 : 1;
  } finally {
    await rig.killAll();
  }
}

/** Plays one fault after the other until the end of the run. Returns how many. */
async function disturb(api: ApiFaults, { fault }: Lengths, run: Run): Promise<number> {
  for (let count = 0; ; count++) {
    await run.wait(fault * 1.5);
    if (run.isOver) return count;
    api.begin(count);
    await run.wait(fault);
    api.end();
  }
}

async function showProgress(run: Run, totals: Totals, expected: Expected): Promise<void> {
  const began = performance.now();
  for (;;) {
    await run.wait(15_000);
    await totals.look();
    if (run.isOver) return;
    const seconds = Math.round((performance.now() - began) / 1000);
    const published = nodes.map((node) => sumOf(totals, expected, node));
    const logged = [...expected.values()].reduce((sum, count) => sum + count, 0);
    console.error(`${seconds} s: ${logged} logged; published: ${published.join(', ')}`);
  }
}

function sumOf(totals: Totals, expected: Expected, node: string): number {
  return [...expected.keys()].reduce((sum, subject) => sum + totals.counted(node, subject), 0);
}

/** Waits until the last counts are published. Returns what still differs when nothing more can come. */
async function settle(totals: Totals, expected: Expected): Promise<Difference[]> {
  const deadline = performance.now() + longestSettling;
  for (;;) {
    await totals.look();
    const differences = totals.differences(nodes, expected);
    if (differences.length === 0 || performance.now() > deadline) return differences;
    await delay(2000);
  }
}

function report(totals: Totals, expected: Expected): void {
  const groups = new Map<string, string[]>();
  for (const subject of expected.keys()) {
    const group = subject.replace(/\/.*/, '').replace('Pod ', 'Pods of ');
    groups.set(group, [...(groups.get(group) ?? []), subject]);
  }
  const rows = [['counted on', 'logged', ...nodes]];
  for (const [group, subjects] of groups) {
    const sum = (of: (subject: string) => number): string =>
      subjects.reduce((total, subject) => total + of(subject), 0).toLocaleString('en-US');
    const counted = nodes.map((node) => sum((subject) => totals.counted(node, subject)));
    rows.push([group, sum((subject) => expected.get(subject) ?? 0), ...counted]);
  }
  console.log(`\n${alignColumns(rows).join('\n')}`);
}

async function losses({ process: agent }: SoakedAgent): Promise<Record<string, number>> {
  const names = ['lines_total', 'repeated_lines_total', 'lost_records_total', 'lost_bytes_total'];
  const values = await Promise.all(names.map((name) => counterOf(agent, name)));
  return Object.fromEntries(names.map((name, index) => [name, values[index] as number]));
}

function describe(figures: Readonly<Record<string, number>>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toLocaleString('en-US')}`)
    .join(', ');
}

/** Whether memory is flat, if the run was long enough to say so. */
function reportMemory(memory: Memory, minutes: number): boolean {
  let isFlat = true;
  for (const kind of ['rss', 'heap'] as const) {
    const [samples, slope] = [memory[kind], slopeOf(memory[kind])];
    const [first, last] = [samples[0]?.[1] ?? NaN, samples.at(-1)?.[1] ?? NaN];
    const holds = Math.abs(slope) <= flat[kind] || slope < 0;
    const verdict = minutes < verdictMinutes ? 'too short for a verdict' : holds ? 'flat' : 'GROWS';
    if (verdict === 'GROWS') isFlat = false;
    const name = kind === 'rss' ? 'resident memory' : 'heap in use after a collection';
    console.log(`${name}: ${megabytes(first)} → ${megabytes(last)} MB, ${megabytes(slope)} MB/h: ${verdict}`);
  }
  return isFlat;
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
