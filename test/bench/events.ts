/**
 * `npm run bench -- events`: CPU time that a real kube-apiserver and its etcd take for each Event that is created or patched, as the
 * agent sends it, and the bytes that etcd keeps of each.
 *
 *     npm run bench -- events                      4,000 Events
 *     npm run bench -- events --events 500
 */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { alignColumns } from '../../src/cli/describe.ts';
import { type CoreEvent, eventOf } from '../../src/publish/events/event.ts';
import { createConnection } from '../../src/agent/kubernetes/connection.ts';
import { createEventStore } from '../../src/agent/kubernetes/written-objects.ts';
import { readKubeconfig } from '../../src/agent/kubernetes/kubeconfig.ts';
import { messageOf } from '../../src/count/pipeline/message.ts';
import { createSteadyClock } from '../../src/base/platform/clock.ts';
import { externalEnd, finding, flow, podRef, series } from '../builders.ts';
import { startControlPlane } from '../e2e/control-plane/control-plane.ts';
import { createObjects } from '../e2e/control-plane/objects.ts';
import { inTurns } from '../e2e/in-turns.ts';
import { preparePrograms } from '../programs/install.ts';
import { processorTimeOf } from './used.ts';

/** Requests under way at the same time. */
const workers = 4;
const namespace = 'bench';

const { values } = parseArgs({ options: { events: { type: 'string', default: '4000' } } });
const count = Number(values.events);

await preparePrograms('measuring');
const plane = await startControlPlane();
try {
  await createObjects(plane, { items: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }] });
  const clock = createSteadyClock();
  const access = readKubeconfig(plane.adminKubeconfig);
  const store = createEventStore(createConnection({ access, userAgent: 'bench', onRequest: () => {}, clock }));
  const pids = ['kube-apiserver', 'etcd'].map(plane.pidOf);
  const cpu = (): number[] => pids.map((pid) => processorTimeOf(pid));
  const versions = new Map<number, string>();
  // Warms up: the first requests of a kind cost more.
  await inTurns(workers, [0, 50], (number) => created(-1 - number));
  await delay(10_000);
  const idleFrom = cpu();
  await delay(10_000);
  const idle = cpu().map((seconds, index) => (seconds - (idleFrom[index] ?? 0)) / 10);

  const rows: string[][] = [['one request', 'CPU of kube-apiserver', 'CPU of etcd']];
  const measure = async (what: string, one: (number: number) => Promise<void>): Promise<void> => {
    const before = cpu();
    const began = performance.now();
    await inTurns(workers, [0, count], one);
    const seconds = (performance.now() - began) / 1000;
    const costs = cpu().map((after, index) => after - (before[index] ?? 0) - (idle[index] ?? 0) * seconds);
    rows.push([what, ...costs.map((cost) => `${((cost * 1000) / count).toFixed(2)} ms`)]);
    console.error(rows.at(-1)?.join('  '));
  };
  await measure('an Event is created', async (number) => void versions.set(number, await created(number)));
  const first = await bytesInEtcd(pids[0]);
  await measure('the same is patched', async (number) => {
    const answer = await store.update(eventFor(number, 2), versions.get(number) ?? '');
    if (answer.kind !== 'stored') throw new Error(`${answer.status} ${answer.message}`);
  });
  const second = await bytesInEtcd(pids[0]);
  const sent = Buffer.byteLength(JSON.stringify(eventFor(1, 1)));
  console.log(`${count.toLocaleString('en-US')} Events\n${alignColumns(rows).join('\n')}`);
  console.log(`sent: ${sent} bytes of JSON; in etcd: ${first.toFixed(0)} bytes each, patched ${second.toFixed(0)}`);

  async function created(number: number): Promise<string> {
    const answer = await store.create(eventFor(number, 1));
    if (answer.kind !== 'stored') throw new Error(`${answer.status} ${answer.message}`);
    return answer.event.resourceVersion;
  }
} finally {
  await plane.stop();
}

/** The Event of a Pod whose packets were dropped. With a higher count it is patched. */
function eventFor(number: number, packets: number): CoreEvent {
  const name = `web-${number}`;
  const peer = externalEnd({ address: '198.51.100.7' });
  const dropped = series({
    finding: finding({ identity: name, regarding: podRef(name, namespace), details: flow({ peer }) }),
    count: packets,
  });
  return eventOf(dropped, messageOf(dropped), Date.now());
}

/** Measures the key and the value of an Event, on average, without the earlier revisions that etcd keeps until they are compacted. */
async function bytesInEtcd(apiServer = 0): Promise<number> {
  const [, address = ''] = /--etcd-servers=(\S+?)\0/.exec(readFileSync(`/proc/${apiServer}/cmdline`, 'latin1')) ?? [];
  const prefix = `/registry/events/${namespace}/`;
  const ends = [prefix, `${prefix.slice(0, -1)}0`].map((key) => Buffer.from(key).toString('base64'));
  const [key, range_end] = ends;
  const response = await fetch(`${address}/v3/kv/range`, { method: 'POST', body: JSON.stringify({ key, range_end }) });
  const { kvs } = (await response.json()) as { kvs: { key: string; value: string }[] };
  const bytes = kvs.flatMap((each) => [each.key, each.value]).map((text) => Buffer.from(text, 'base64').length);
  return bytes.reduce((sum, each) => sum + each, 0) / kvs.length;
}
