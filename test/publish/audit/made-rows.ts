import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { createIntervals, type Intervals } from '../../../src/publish/audit/intervals.ts';
import { rowText } from '../../../src/publish/audit/record.ts';
import { ends, externalEnd, nine, observation, packet, podEnd, podRef } from '../../builders.ts';

/** Rows as an agent writes them, about a node whose Pods are in twelve namespaces: the same for the same numbers. */
export function makeRows({
  minutes,
  flows,
  node = 'node-a',
}: {
  minutes: number;
  flows: number;
  node?: string;
}): string[] {
  const rows: string[] = [];
  let now = nine;
  const random = createRandom(minutes * 7919 + flows);
  const intervals = createIntervals({ interval: 60_000, cluster: 'prod', now: () => now, toWall: (time) => time });
  const busy = Array.from({ length: flows }, () => createFlow(random, node));
  for (let minute = 0; minute < minutes; minute++) {
    const start = nine + minute * 60_000;
    // Nine of ten flows of a minute were already there in the minute before.
    for (let index = 0; index < flows; index++) {
      if (random() < 0.1) busy[index] = createFlow(random, node);
      const made = busy[index] as ReturnType<typeof createFlow>;
      now = start + Math.floor(random() * 59_000);
      intervals.count(made, () => made, 1 + Math.floor(random() ** 4 * 300), now);
      intervals.count(made, () => made, 1, start + 59_500);
    }
    now = start + 66_000;
    rows.push(...closeAll(intervals).map(rowText));
  }
  return rows;
}

const namespaces = 'shop batch payments search media crm billing web data ml infra qa'.split(' ');
const workloads = ['api', 'worker', 'frontend', 'cache', 'postgres', 'importer', 'mailer', 'gateway'];
const ports = [53, 80, 443, 3306, 5432, 6379, 8080, 9092, 9090, 11_211];

function createFlow(random: () => number, node: string) {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const pod = (onNode: string) => {
    const [namespace, name] = [pick(namespaces), pick(workloads)];
    const suffix = Math.floor(random() * 36 ** 5)
      .toString(36)
      .padStart(5, '0');
    const workload = { kind: name === 'postgres' ? 'StatefulSet' : 'Deployment', namespace, name };
    const address = `10.${64 + Math.floor(random() * 8)}.${Math.floor(random() * 256)}.${Math.floor(random() * 256)}`;
    const identity = `${workload.kind}/${namespace}/${name}`;
    return podEnd({
      object: podRef(`${name}-6c8d5f7b94-${suffix}`, namespace),
      workload,
      address,
      node: onNode,
      identity,
    });
  };
  const stranger = `${1 + Math.floor(random() * 220)}.${Math.floor(random() * 256)}.${Math.floor(random() * 256)}.7`;
  const source = random() < 0.3 ? externalEnd({ address: stranger, identity: stranger }) : pod('node-b');
  return {
    observation: observation({
      packet: packet({ destinationPort: pick(ports), sourcePort: 40_000 + Math.floor(random() * 20_000) }),
      prefix: 'calico-packet',
      inInterface: 'vxlan.calico',
      outInterface: `cali${Math.floor(random() * 2 ** 44)
        .toString(16)
        .padStart(11, '0')}`,
    }),
    ends: ends({ source, destination: pod(node), toPodInterface: true }),
    node,
    noise: undefined,
  };
}

/** Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Closes all that is over; twice, because packets counted since the last look stay open. */
export function closeAll(intervals: Intervals, most = 200): FlowRecord[] {
  const all: FlowRecord[] = [];
  for (let looks = 0; looks < 2;) {
    const { records, isDone } = intervals.close(most);
    all.push(...records);
    if (isDone) looks++;
  }
  return all;
}
