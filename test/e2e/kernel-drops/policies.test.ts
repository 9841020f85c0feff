import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { FlowRecord } from '../../../src/publish/audit/fields.ts';
import { replay } from '../../cli/replaying.ts';
import { runs } from '../../runs.ts';
import { podObject } from '../agent-rig.ts';
import type { KubernetesObject } from '../control-plane/creatable.ts';
import { createOwnFolder } from '../own-folder.ts';
import { networkPrograms, runMachine } from './machine.ts';
import { randomPods, roundsFile } from './random-pods.ts';
import { randomRounds, type Round } from './random-policies.ts';

/**
 * Connections between Pods with random policies, which rules in a kernel of Debian enforce: exactly those fail that the
 * program calls denied.
 */

const rounds = randomRounds(runs(30), Number(process.env['FUZZ_SEED'] ?? 1));
const folder = createOwnFolder('policies');
let printed: { kind: string; value: unknown }[] = [];

const valuesOf = (kind: string): unknown[] => printed.flatMap((each) => (each.kind === kind ? [each.value] : []));

beforeAll(async () => {
  const text = await runMachine({
    version: '6.12',
    modules: ['crc32c_generic', 'veth', 'nf_tables'],
    programs: networkPrograms(),
    program: join(import.meta.dirname, 'policies-guest.ts'),
    texts: { [roundsFile]: JSON.stringify(rounds.map(({ rules, connections }) => ({ rules, connections }))) },
    folder,
  });
  printed = Array.from(text.matchAll(/^@(\w+) (.*)$/gm), ([, kind = '', json = '']) => ({
    kind,
    value: JSON.parse(json) as unknown,
  }));
  if (printed.at(-1)?.kind !== 'end') throw new Error(`the guest did not come to its end: ${text.slice(-3000)}`);
}, 1_500_000);

test('everything could be tried, and nothing was lost', () => {
  expect(['failed', 'notice', 'lost'].flatMap(valuesOf)).toEqual([]);
});

test('what policies do not admit has failed, and all else was answered', () => {
  const outcomes = new Map(valuesOf('round').flat() as [number, string][]);
  for (const { connections } of rounds)
    for (const connection of connections) {
      const expected = connection.verdict === 'admits' ? 'connected' : 'gave up';
      expect({ ...connection, outcome: outcomes.get(connection.localPort) }).toMatchObject({ outcome: expected });
    }
});

test('each connection that policies deny is said to be denied, and no other', async () => {
  const lines = valuesOf('line') as string[];
  for (const round of rounds) {
    const denied = round.connections.filter(({ verdict }) => verdict === 'denies');
    expect(await deniedIn(round, lines)).toEqual(denied.map(({ localPort }) => localPort));
  }
});

/** Returns the source ports of the connections that the program calls denied, among the lines of a round. */
async function deniedIn(round: Round, lines: readonly string[]): Promise<number[]> {
  const ports = new Set(round.connections.map(({ localPort }) => localPort));
  const records = lines.flatMap((message) => {
    const isOfRound = ports.has(Number(/ sport=(\d+) /.exec(message)?.[1]));
    return isOfRound ? [`${JSON.stringify({ message, host: node, timestamp: '2026-11-21T15:20:10.000Z' })}\n`] : [];
  });
  const [objects, log] = [join(folder, 'objects.json'), join(folder, 'lines.log')];
  writeFileSync(objects, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objectsIn(round) }));
  writeFileSync(log, records.join(''));
  const { out } = await replay(['--pods', objects, '--policies', objects, '-q', '-o', 'audit', log]);
  const rows = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as FlowRecord]));
  return rows.map((row) => Number(row['source.port'])).toSorted((one, other) => one - other);
}

const node = 'node-a';

function objectsIn({ policies, namespaces, pods }: Round): object[] {
  const ofNamespaces = namespaces.map(({ name, labels }) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  }));
  return [...ofNamespaces, ...pods.map(podOf), ...policies];
}

function podOf(
  { namespace, name, labels = {}, addresses, ports = [] }: Round['pods'][number],
  index: number,
): KubernetesObject {
  const own = ports.map((each) => ({ name: each.name, containerPort: each.port, protocol: each.protocol }));
  const startTime = '2026-11-21T10:00:00Z';
  const object = podObject({ namespace, name, node, addresses, labels, ports: own, startTime });
  return { ...object, metadata: { ...object.metadata, uid: randomPods[index]?.uid } };
}
