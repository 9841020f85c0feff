/**
 * `npm run bench -- drops`: what the last hour's flows cost an agent, by number of flows: memory, and the CPU time
 * of a packet and of an answer to `/drops`. Runs in one process, without the rest of the agent.
 */
import { createLiveFlows } from '../../src/publish/audit/live-flows.ts';
import { alignColumns } from '../../src/cli/describe.ts';
import { ends, externalEnd, observation, packet, podEnd, podRef } from '../builders.ts';
import { median } from './quantile.ts';

const runs = 9;
const { gc } = globalThis;
if (gc === undefined) throw new Error('node --expose-gc is needed');

const rows = [['flows', 'memory', 'new flow', 'packet of a known flow', 'answer, CPU', 'answer, bytes']];
for (const count of [100, 1000, 10_000]) {
  const packets = Array.from({ length: count }, (_, index) => packetOf(index));
  gc();
  const before = process.memoryUsage().heapUsed;
  const table = createLiveFlows({
    node: 'node-a',
    redact: undefined,
    clock: { now: () => 1_795_000_000_000, toWall: (time) => time },
  });
  const fresh = cpuOf(() => {
    for (const { meaning, of } of packets) table.count(meaning, of, 1, 1_795_000_000_000);
  });
  gc();
  const memory = process.memoryUsage().heapUsed - before;
  const known = cpuOf(() => {
    for (const { meaning, of } of packets) table.count(meaning, of, 1, 1_795_000_000_000);
  });
  const answers: number[] = [];
  for (let run = 0; run < runs; run++) {
    const since = process.cpuUsage();
    await table.text();
    answers.push(secondsSince(since));
  }
  if (table.sizes.flows !== count) throw new Error(`${table.sizes.flows} flows, and not ${count}`);
  rows.push([
    count.toLocaleString('en-US'),
    `${(memory / 1e6).toFixed(1)} MB`,
    `${((fresh / count) * 1e6).toFixed(1)} µs`,
    `${((known / count) * 1e6).toFixed(2)} µs`,
    `${(median(answers) * 1000).toFixed(1)} ms`,
    (await table.text()).length.toLocaleString('en-US'),
  ]);
}
console.log(`${alignColumns(rows).join('\n')}\nan answer: median of ${runs}`);

/** Makes packets of Pods of 50 workloads, each to another address. */
function packetOf(index: number) {
  const name = `web-6c8d5f7b94-${String(index % 200).padStart(5, '0')}`;
  const workload = { kind: 'Deployment', namespace: `team-${index % 50}`, name: `web-${index % 200}` };
  const source = podEnd({
    object: podRef(name, `team-${index % 50}`),
    workload,
    identity: `Deployment/team-${index % 50}/web-${index % 200}`,
    address: `10.244.${(index % 200) >> 8}.${index % 200}`,
  });
  const address = `203.0.${(index >> 8) & 255}.${index & 255}`;
  const found = ends({ source, destination: externalEnd({ address, identity: address }) });
  const of = () => ({
    observation: observation({ packet: packet({ destinationPort: 443, sourcePort: 50_000 }) }),
    ends: found,
    node: 'node-a',
    noise: undefined,
  });
  return { meaning: {}, of };
}

/** Seconds of CPU time. */
function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return secondsSince(before);
}

function secondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}
