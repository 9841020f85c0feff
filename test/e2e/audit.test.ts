import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import type { FlowRecord } from '../../src/publish/audit/fields.ts';
import type { AgentProcess } from './agent-process.ts';
import { networkPolicy } from '../explain/policies/objects.ts';
import {
  type AgentRig,
  createAgentRig,
  dropLine,
  kubeconfigWith,
  nodeObject,
  podObject,
  untilMetric,
} from './agent-rig.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects } from './control-plane/objects.ts';
import { rulesIn } from './granted.ts';
import { type OtlpReceiver, startOtlpReceiver, take } from './otlp-receiver.ts';

/** The audit of an agent that runs: each dropped packet is in one record of each receiver, whatever happens in between. */

const controlPlane = connect(inject('controlPlane'));
const node = 'audit-node';
const namespace = 'audited';
let rig: AgentRig;
let receiver: OtlpReceiver;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  await createObjects(controlPlane, {
    items: [
      nodeObject(node, '192.168.97.1'),
      ...Array.from({ length: 11 }, (_, index) => index + 1).map((number) =>
        podObject({
          namespace,
          name: `web-${number}`,
          node,
          addresses: [`10.87.1.${number}`],
          labels: { app: 'web', 'example.com/team': `team-${number}`, unasked: 'private' },
        }),
      ),
    ],
  });
});
afterEach(async () => {
  await rig.killAll();
  await receiver.stop();
});

async function scene() {
  receiver = await startOtlpReceiver();
  const folder = rig.newFolder();
  const log = join(folder, 'kern.log');
  writeFileSync(log, '');
  const file = join(folder, 'audit', 'audit.ndjson');
  const env = {
    NODE_NAME: node,
    SOURCES: `file:${log}`,
    STATE_DIR: join(folder, 'state'),
    AUDIT: `file:${file},otlp:${receiver.url}`,
    AUDIT_INTERVAL: '1',
    CLUSTER_NAME: 'e2e',
    AUDIT_LABELS: 'example.com/team,app',
  };
  let written = 0;
  return {
    env,
    folder,
    start: (): AgentProcess => rig.start(env),
    /** Logs packets from five peers, to one of the Pods or to the first three in turn. */
    drop: (count = 1, peer = 0, to?: number): void => {
      for (let packet = 0; packet < count; packet++) {
        const pod = to ?? 1 + (written % 3);
        appendFileSync(log, dropLine(`203.0.113.${peer + (written++ % 5)}`, `10.87.1.${pod}`, 80));
      }
    },
    written: () => written,
    inFile: (): FlowRecord[] => rowsIn(join(folder, 'audit')).filter(isOfFlow),
    inFileWithGaps: (): FlowRecord[] => rowsIn(join(folder, 'audit')),
  };
}

function rowsIn(folder: string): FlowRecord[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('.'))
    .map((name) => readFileSync(join(folder, name)))
    .flatMap((bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString().split('\n'))
    .filter((row) => row !== '')
    .map((row) => JSON.parse(row) as FlowRecord);
}

/** Whether the record is about a flow, and not about a gap: the first start without a state records one. */
function isOfFlow(record: object): boolean {
  return 'network.packets' in record;
}

/**
 * Adds up the packets by the ids of the records. A record may come several times; then all its fields must be the same.
 */
function packetsIn(records: readonly (FlowRecord | OtlpReceiver['records'][number])[]): number {
  const byId = new Map<unknown, Record<string, unknown>>();
  for (const record of records.filter(isOfFlow) as readonly Record<string, unknown>[]) {
    const id = record['event.id'] ?? record['log.record.uid'];
    if (byId.has(id)) expect(record).toEqual(byId.get(id));
    byId.set(id, record);
  }
  return [...byId.values()].reduce<number>((sum, record) => sum + Number(record['network.packets']), 0);
}

async function untilPackets(records: () => readonly (FlowRecord | OtlpReceiver['records'][number])[], total: number) {
  await expect.poll(() => packetsIn(records()), { timeout: 60_000, interval: 1000 }).toBe(total);
}

test('records name the ends and the number of packets, in the file and by OTLP', async () => {
  const { start, drop, inFile, inFileWithGaps, written } = await scene();
  const agent = start();
  await agent.untilReady();
  drop(30);
  await untilPackets(inFile, written());
  await untilPackets(() => receiver.records, written());
  for (const record of inFile())
    expect(record).toMatchObject({
      'event.name': 'network.flow.drop',
      'k8s.cluster.name': 'e2e',
      'k8s.node.name': node,
      'destination.k8s.namespace.name': namespace,
      'destination.port': 80,
      'destination.k8s.pod.labels': `example.com/team=team-${record['destination.k8s.pod.name']?.at(-1)},app=web`,
    });
  const gaps = inFileWithGaps().filter((record) => !isOfFlow(record));
  expect(gaps.map((record) => record['event.name'])).toEqual(['network.flow.gap']);
  expect(JSON.stringify([inFileWithGaps(), receiver.records])).not.toContain('private');
  expect(receiver.records.map(({ EventName }) => EventName)).toContain('network.flow.drop');
  await untilMetric(agent, /audit_rows_total\{sink="otlp",result="sent"\} [1-9]/m);
});

test('with the agent killed and the receiver failing at any moment, and policies read meanwhile, each packet is in one record, and resent records are equal', async () => {
  const { env, drop, inFile, written } = await scene();
  const rights = rulesIn('deploy/base/rbac.yaml', 'deploy/base/policies.yaml');
  const KUBECONFIG = await kubeconfigWith(controlPlane, 'audit-policies', rights);
  const start = (): AgentProcess => rig.start({ ...env, KUBECONFIG });
  /** Whether the receiver got a record twice that says that this policy denied its packets. */
  const cameTwice = (policy: string): boolean => {
    const ids = receiver.records.flatMap((record) =>
      String(record['policy.decided_by']).split(',').includes(`NetworkPolicy ${namespace}/${policy}`)
        ? [record['log.record.uid']]
        : [],
    );
    return new Set(ids).size < ids.length;
  };
  let request = 0;
  receiver.answerWith((response) => {
    request++;
    if (request % 4 === 1) {
      response.writeHead(503).end();
      return 'refused';
    }
    // The receiver takes the records, but the agent does not learn of it.
    if (request % 4 === 2) {
      response.destroy();
      return 'taken';
    }
    return take(response);
  });
  for (let run = 0; run < 6; run++) {
    if (run === 1) await controlPlane.apply(denyAll('default-deny'));
    if (run === 3) await controlPlane.apply(denyAll('later'));
    const agent = start();
    // An agent that has not yet saved a position in the log may begin after lines that were written before.
    if (run === 0) await untilMetric(agent, /state_saved_timestamp_seconds [1-9]/m);
    const end = performance.now() + 1500 + Math.random() * 6000;
    const isAwaited = (): boolean => (run === 2 && !cameTwice('default-deny')) || (run === 5 && !cameTwice('later'));
    while (performance.now() < end || (isAwaited() && performance.now() < end + 60_000)) {
      // Each run has its own Pod: policies are read for its Events, and a Pod has eight slots.
      drop(1 + Math.floor(Math.random() * 20), 10 * run, 4 + run);
      await delay(20);
    }
    agent.signal('SIGKILL');
    await agent.untilExit();
  }
  start();
  await untilPackets(inFile, written());
  await untilPackets(() => receiver.records, written());
  expect(['default-deny', 'later'].map(cameTwice)).toEqual([true, true]);
  expect(inFile().some((record) => record['policy.verdict'] === undefined)).toBe(true);
});

const denyAll = (name: string): object => networkPolicy({ podSelector: {} }, name, namespace);

test('a namespace that opted out is named neither in the file nor in the state; once it opts in again, it is named from the next interval on', async () => {
  const { env, drop, inFile, folder } = await scene();
  const label = (value: string | null) =>
    controlPlane.kubectl([
      'label',
      '--overwrite',
      'namespace',
      namespace,
      `kube-netfilter-tailer/audit${value ?? '-'}`,
    ]);
  expect((await label('=redacted')).code).toBe(0);
  const rights = rulesIn('deploy/base/rbac.yaml', 'deploy/components/audit-opt-out/rbac.yaml');
  const KUBECONFIG = await kubeconfigWith(controlPlane, 'audit-opt-out', rights);
  const agent = rig.start({ ...env, KUBECONFIG, AUDIT_OPT_OUT: 'true' });
  await agent.untilReady();
  drop(6);
  await untilPackets(inFile, 6);
  for (const record of inFile())
    expect(record).toMatchObject({ 'destination.kind': 'redacted', 'destination.port': 80 });
  const written = readdirSync(join(folder, 'audit')).map((name) => readFileSync(join(folder, 'audit', name), 'latin1'));
  expect(written.join('')).not.toMatch(/audited|web-\d|10\.97\./);
  expect((await label(null)).code).toBe(0);
  await expect
    .poll(
      () => {
        drop();
        return inFile().some((record) => record['destination.k8s.namespace.name'] === namespace);
      },
      { timeout: 60_000, interval: 500 },
    )
    .toBe(true);
});
