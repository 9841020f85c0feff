import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { signOf } from '../../../src/incidents/catalogue/sign-of.ts';
import { parseProgramRecord } from '../../../src/parsing/components/program-record.ts';
import { createPrefixTable } from '../../../src/parsing/netfilter/prefixes.ts';
import { createPipeline, type Pipeline } from '../../../src/pipeline/pipeline.ts';
import { createReplayIncidents } from '../../../src/commands/replay/incidents.ts';
import { createDirectory } from '../../../src/resolving/directory.ts';
import { createSeriesTable } from '../../../src/series/series.ts';
import { createContainerRecords } from '../../../src/sources/records/container-records.ts';
import { createStatistics } from '../../../src/pipeline/statistics.ts';
import type { AgentRig } from '../../e2e/agent-rig.ts';
import type { Connection } from '../../e2e/control-plane/connection.ts';
import { createObjects } from '../../e2e/control-plane/objects.ts';
import { lines } from '../../incidents/catalogue/lines.ts';
import type { ExpectedSign } from '../../incidents/catalogue/sign-row.ts';
import { benchNode, benchPod } from '../pods.ts';
import { namespace } from './cluster.ts';
import { syncedLines } from './records.ts';

const podsOfNode = 110;
const slices = 1000;
const endpointsOfSlice = 10;
const settled = 20_000;

/** Lines of the table of the tests that are taken for what they are. */
export function classified(): string[][] {
  const wrong = lines.filter(({ text, sign }) => !isRight(text, sign));
  const ofFailures = lines.filter(({ sign }) => sign !== undefined).length;
  return [
    [
      `lines classified right, wrong, of ${ofFailures} that tell something and ${lines.length - ofFailures} that do not`,
      `${lines.length - wrong.length}, ${wrong.length}`,
    ],
    ...wrong.map(({ name }) => ['… wrong', name]),
  ];
}

function isRight(text: string, expected: ExpectedSign | undefined): boolean {
  const record = parseProgramRecord(text);
  const sign = record && signOf(record);
  if (expected === undefined || sign === undefined) return sign === expected;
  const { sync, ...rest } = 'sync' in expected ? expected : { ...expected, sync: 'failure' };
  const found: Readonly<Record<string, unknown>> = { ...sign };
  return sign.kind === sync && Object.entries(rest).every(([key, value]) => found[key] === value);
}

/** The way of a line from the file of a container to the incidents, without reading the file. */
export function timePerLine(): string[][] {
  const texts = syncedLines().map((line) => `2026-11-21T15:10:06.136242000Z stderr F ${line}`);
  const pipeline = quietPipeline();
  const run = (count: number): number => {
    const records = createContainerRecords({
      saved: undefined,
      timing: { now: () => 0, schedule: () => () => {} },
      onRecord: ({ text, time, number }) =>
        pipeline.take(
          { source: 'log', line: number, text, time: time ?? 0, timeIsExact: true, host: undefined },
          'container',
        ),
    });
    const started = performance.now();
    for (let number = 0; number < count; number++) records.take(texts[number % texts.length] ?? '', number + 1);
    records.finish();
    return ((performance.now() - started) / count) * 1000;
  };
  run(50_000);
  const times = Array.from({ length: 5 }, () => run(200_000)).toSorted((a, b) => a - b);
  return [['a line of a quiet kube-proxy at -v=2, from the file to the incidents', `${times[2]?.toFixed(2)} µs`]];
}

function quietPipeline(): Pipeline {
  const objects = { pods: [], nodes: [], services: [], endpointSlices: [], namespaces: [] };
  const directory = createDirectory(objects);
  const series = createSeriesTable();
  const incidents = createReplayIncidents({
    objects,
    directory,
    felixOf: () => undefined,
    series: () => series,
    advance: () => {},
    nextDue: () => Infinity,
  });
  return createPipeline({
    prefixes: createPrefixTable(),
    directory,
    statistics: createStatistics(),
    node: 'node-000',
    includeNoise: false,
    advance: () => {},
    series: () => series,
    incidents: incidents.of,
  });
}

/** Resident memory of an idle agent, with EndpointSlices and without. */
export async function memory(connection: Connection, rig: AgentRig): Promise<string[][]> {
  const pods = Array.from({ length: podsOfNode }, (_, number) => benchPod(number, 0));
  await createObjects(connection, { items: [benchNode(0), ...pods] });
  await createSlices(connection);
  const start = (limit: number) =>
    rig.start({
      NODE_NAME: 'node-000',
      SOURCES: 'containers',
      POD_LOGS: rig.newFolder(),
      MAX_ENDPOINT_SLICES: String(limit),
    });
  const agents = [start(0), start(2 * slices)];
  await Promise.all(agents.map((agent) => agent.untilReady()));
  await delay(settled);
  const [without, within] = agents.map(({ pid }) => residentMegabytes(pid ?? 0));
  await rig.killAll();
  return [
    [`memory (RSS), ${podsOfNode} Pods, no EndpointSlices`, `${without} MB`],
    [`… and ${slices.toLocaleString('en-US')} EndpointSlices of ${endpointsOfSlice} endpoints`, `${within} MB`],
  ];
}

async function createSlices(connection: Connection): Promise<void> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  for (let number = 0; number < slices; number++) {
    const name = `backend-${number}`;
    const endpoints = Array.from({ length: endpointsOfSlice }, (_, index) => ({
      addresses: [`10.${64 + (number >> 8)}.${number & 255}.${index}`],
      conditions: { ready: true },
      nodeName: `node-${index}`,
      targetRef: { kind: 'Pod', namespace, name: `${name}-${index}` },
    }));
    const body = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      addressType: 'IPv4',
      metadata: { name: `${name}-ipv4`, labels: { 'kubernetes.io/service-name': name } },
      endpoints,
      ports: [{ port: 8080, protocol: 'TCP' }],
    };
    const { status } = await connection.request('POST', path, { body });
    if (status !== 201) throw new Error(`creating an EndpointSlice: ${status}`);
  }
}

function residentMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Math.round((Number(kilobytes) * 1024) / 1e6);
}
