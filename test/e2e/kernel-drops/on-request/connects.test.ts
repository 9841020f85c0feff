import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { policiesFile, rightsFile } from '../../../../src/agent/kubernetes/rights.ts';
import type { FlowRecord } from '../../../../src/publish/audit/fields.ts';
import { connectFailure } from '../../../../src/base/model/packet.ts';
import { imageCommand } from '../../../deploy/image-command.ts';
import { createAgentRig, kubeconfigWith, type StoredEvent } from '../../agent-rig.ts';
import { bundle } from '../../bundle.ts';
import { rulesIn } from '../../granted.ts';
import { connect } from '../../control-plane/connection.ts';
import { createOwnFolder } from '../../own-folder.ts';
import { until } from '../../until.ts';
import { type Expected, isDenied, receiverOf, scenes } from '../connect-scenes.ts';
import { createConnectsScene, guard, noEgress } from '../connect-setup.ts';
import type { Tried } from '../guest-pod.ts';
import { networkPrograms, runMachine, twoProcessors } from '../machine.ts';
import { bundleFile, kubeconfigFile, sceneFile } from '../scene.ts';

/**
 * Connections that fail while an agent runs, in kernels of Debian. Each one that policies deny counts once, with policy
 * and clause; no other one makes an Event, whatever else the node does. CONNECTS_KERNELS, CONNECTS_ROUNDS,
 * CONNECTS_MINUTES and CONNECTS_CLOSED make the test longer; CONNECTS_PROCESSORS are arguments of QEMU.
 */

const env = (name: string, otherwise: string): string => process.env[`CONNECTS_${name}`] ?? otherwise;
const kernels = env('KERNELS', '6.1,6.12').split(',');
const options = {
  rounds: Number(env('ROUNDS', '1')),
  minutes: Number(env('MINUTES', '0')),
  closedBeside: Number(env('CLOSED', '4')),
};
const controlPlane = connect(inject('controlPlane'));
const { flags, allocator } = imageCommand();
const modules = (
  'crc32c_generic veth nf_tables nft_reject_inet nft_queue nft_log nf_log_syslog nft_chain_nat nft_nat nft_counter nft_objref iptable_filter ' +
  'xt_tcpudp virtio_pci virtio_net'
).split(' ');
let rig: Awaited<ReturnType<typeof createAgentRig>>;
let kubeconfig: string;

beforeAll(async () => {
  rig = await createAgentRig(controlPlane);
  kubeconfig = await kubeconfigWith(controlPlane, 'connects', rulesIn(rightsFile, policiesFile));
});

describe.concurrent.each(kernels)('Linux %s', (version) => {
  const namespace = `connects-${version.replace('.', '-')}`;
  const printed: { kind: string; value: unknown }[] = [];
  const watched = watchEvents(namespace);
  let rounds: readonly Tried[][] = [];
  let counters = '';
  let events: readonly StoredEvent[] = [];
  let rows: readonly FlowRecord[] = [];

  const valuesOf = (kind: string): unknown[] => printed.flatMap((each) => (each.kind === kind ? [each.value] : []));
  const failures = (result: string): number =>
    Number(
      new RegExp(String.raw`_connect_failures_total\{result="${result}"\} (\d+)$`, 'm').exec(
        String(valuesOf('metrics')[0]),
      )?.[1],
    );
  const all = (expected: Expected): number =>
    scenes.filter((each) => each.expected === expected).length * rounds.length;
  /**
   * The rounds in which the connection lasted about a second, so that the kernel repeated its SYN whoever gave up. This
   * happens on a slow machine; such a connection is then also denied.
   */
  const lateIn = (index: number): number => rounds.filter((round) => took(round[index]) >= 950).length;
  const countOf = (index: number): number => {
    const scene = scenes[index];
    if (scene?.expected === 'told')
      return Number(new RegExp(String.raw`counter scene${index} \{\s*packets (\d+)`).exec(counters)?.[1]);
    if (scene?.expected === 'denied') return rounds.length;
    return scene?.expected === 'silent' && isDenied(scene) && scene.outcome === undefined ? lateIn(index) : 0;
  };

  const hasAll = async (): Promise<boolean> => {
    events = await rig.events(namespace);
    return scenes.every((_, index) => sumOf(events, index) >= countOf(index));
  };

  async function answer(request: IncomingMessage): Promise<string> {
    const body = await text(request);
    if (request.url !== '/tried') return String(Date.now());
    ({ rounds, counters } = JSON.parse(body) as { rounds: Tried[][]; counters: string });
    // The tests show which ones are missing.
    await until(hasAll, () => 'not all Events are there', 200_000).catch(() => {});
    return '';
  }

  beforeAll(async () => {
    const made = await createConnectsScene(controlPlane, {
      ...options,
      namespace,
      server: controlPlane.server,
      image: { flags, env: allocator },
    });
    const server = createServer((request, response) => void answer(request).then((body) => response.end(body)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const scene = { ...made, tellPort: (server.address() as AddressInfo).port };
    watched.start();
    const output = await runMachine({
      version,
      modules,
      programs: { ...networkPrograms(), [bundleFile]: bundle },
      program: join(import.meta.dirname, '../connects-guest.ts'),
      texts: { [sceneFile]: JSON.stringify(scene), [kubeconfigFile]: readFileSync(kubeconfig, 'utf8') },
      processors: env('PROCESSORS', twoProcessors),
      folder: createOwnFolder(`connects-${version}`),
    });
    server.close();
    for (const [, kind = '', json = ''] of output.matchAll(/^@(\w+) (.*)$/gm))
      printed.push({ kind, value: JSON.parse(json) as unknown });
    if (printed.at(-1)?.kind !== 'end') throw new Error(`the guest did not come to its end: ${output.slice(-3000)}`);
    events = await rig.events(namespace);
    rows = String(valuesOf('rows')[0])
      .split('\n')
      .flatMap((row) => (row === '' ? [] : [JSON.parse(row) as FlowRecord]));
    report();
  }, 3_600_000);
  afterAll(() => watched.stop());

  test('everything could be tried, and each connection had its outcome', () => {
    expect(valuesOf('failed')).toEqual([]);
    for (const [index, { name, outcome, isKilled }] of scenes.entries()) {
      const expected = outcome ?? (isKilled === true ? 'killed' : 'gave up');
      const outcomes = new Set(rounds.map((round) => round[index]?.outcome));
      expect({ name, outcomes: [...outcomes] }).toEqual({ name, outcomes: [expected] });
    }
  });

  test.each(scenes.map(({ name, expected }, index) => [name, expected, index] as const))(
    '%s: %s',
    (_, expected, index) => {
      const count = countOf(index);
      if (expected === 'told') {
        expect({ events: sumOf(events, index), rows: rowsOf(rows, index) }).toEqual({ events: count, rows: [] });
        return;
      }
      expect({ events: sumOf(events, index), rows: sumOfRows(rowsOf(rows, index)) }).toEqual({
        events: count,
        rows: count,
      });
      if (count === 0) return;
      const isOwn = scenes[index]?.from === 'strict';
      const [policy, clause] = isOwn
        ? [noEgress, 'no egress rules']
        : [guard, `ingress[0] allows only Pods app=web in ${namespace}`];
      for (const { message } of ofSender(events, index)) {
        expect(message).toContain(`Denied by NetworkPolicy ${namespace}/${policy}`);
        expect(message).toContain(clause);
      }
      for (const row of rowsOf(rows, index))
        expect(row).toMatchObject({
          'policy.verdict': 'denied',
          'policy.decided_by': `NetworkPolicy ${namespace}/${policy}`,
        });
    },
  );

  test('each connection that failed without an answer is counted once, as what it is', () => {
    const denied = scenes.map(({ expected: each }, index) => (each === 'told' ? 0 : countOf(index)));
    expect({
      denied: failures('denied'),
      told: failures('told'),
      foreign: failures('foreign'),
      overflowed: failures('overflowed'),
    }).toEqual({
      denied: denied.reduce((sum, count) => sum + count, 0),
      told: all('told'),
      foreign: all('foreign'),
      overflowed: 0,
    });
    // On a slow machine, a client that is killed, or that turns to its second address, may have been late as well.
    const late = scenes.flatMap((scene, index) =>
      scene.isKilled === true || scene.to === 'both families' ? [lateIn(index)] : [],
    );
    expect(failures('unproven') - all('unproven')).toBeGreaterThanOrEqual(0);
    expect(failures('unproven') - all('unproven')).toBeLessThanOrEqual(late.reduce((sum, count) => sum + count, 0));
  });

  test('no other object has an Event', () => {
    const others = events.filter((event) => !scenes.some((_, index) => isOfScene(event, index)));
    expect(others.map(({ message }) => message)).toEqual([]);
  });

  test('the loops went on meanwhile', () => {
    const [{ counts }] = valuesOf('loops') as [{ counts: { kind: string; outcomes: Record<string, number> }[] }];
    for (const { kind, outcomes } of counts) {
      // A slow guest may miss a UDP packet.
      const { 'no answer': _, ...others } = outcomes;
      expect({ kind, outcomes: Object.keys(others) }).toEqual({
        kind,
        outcomes: [kind === 'closed' ? 'ECONNREFUSED' : 'ok'],
      });
    }
  });

  /** Printed only for a run that is longer than usual. */
  function report(): void {
    if (process.env['CONNECTS_ROUNDS'] === undefined) return;
    const waits = watched.firsts(
      rounds,
      scenes.map((_, index) => (countOf(index) > 0 ? index : -1)),
    );
    console.warn(
      JSON.stringify({
        version,
        waits,
        loops: valuesOf('loops')[0],
        results: ['denied', 'told', 'foreign', 'unproven', 'overflowed'].map((each) => [each, failures(each)]),
      }),
    );
  }
});

function took(tried: Tried | undefined): number {
  return tried === undefined ? 0 : tried.ended - tried.began;
}

function isOfScene({ message, involvedObject, related }: StoredEvent, index: number): boolean {
  const name = receiverOf(index);
  return involvedObject.name === name || related?.name === name || message.includes(`/${name} (`);
}

function ofSender(events: readonly StoredEvent[], index: number): StoredEvent[] {
  return events.filter((event) => isOfScene(event, index) && event.involvedObject.name === scenes[index]?.from);
}

function sumOf(events: readonly StoredEvent[], index: number): number {
  return ofSender(events, index).reduce((sum, { count }) => sum + count, 0);
}

function rowsOf(rows: readonly FlowRecord[], index: number): FlowRecord[] {
  return rows.filter(
    (row) => row['log.logger'] === connectFailure && row['destination.k8s.pod.name'] === receiverOf(index),
  );
}

function sumOfRows(rows: readonly FlowRecord[]): number {
  return rows.reduce((sum, row) => sum + Number(row['network.packets']), 0);
}

/** Notes when each Event was first seen. */
function watchEvents(namespace: string) {
  const seen = new Map<string, { at: number; event: StoredEvent }>();
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    for (const event of await rig.events(namespace))
      if (!seen.has(event.metadata.uid)) seen.set(event.metadata.uid, { at: Date.now(), event });
  };
  return {
    start(): void {
      timer = setInterval(() => void look(), 250);
    },
    stop: (): void => clearInterval(timer),
    /** Milliseconds from the end of the first connection of a scene to its Event. */
    firsts: (rounds: readonly Tried[][], indexes: readonly number[]): number[] =>
      indexes.flatMap((index) => {
        const found = [...seen.values()].find(({ event }) => ofSender([event], index).length > 0);
        const ended = rounds[0]?.[index]?.ended;
        return found === undefined || ended === undefined ? [] : [Math.round(found.at - ended)];
      }),
  };
}
