import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { CoreEvent, ObjectReference } from '../../src/publish/events/event.ts';
import { runBundle } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects, type ObjectList } from './control-plane/objects.ts';
import { rfc3339, shiftLog, shiftObjects } from './time-shift.ts';

const samples = join(import.meta.dirname, '../../samples');
const controlPlane = connect(inject('controlPlane'));

// kubectl counts ages from the machine's clock, so the samples' times are moved until this moment is now.
const samplesNow = Date.parse('2026-11-21T20:00:00Z') / 1000;
const shift = nowSeconds() - samplesNow;

let folder: string;
let snapshot: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kube-netfilter-tailer-replay-'));
  const cluster = shiftObjects(await readFile(join(samples, 'cluster.json'), 'utf8'), shift);
  await createObjects(controlPlane, JSON.parse(cluster) as ObjectList);
  // The snapshot has the uids of this server, and is made as the help says.
  snapshot = join(folder, 'cluster.json');
  await writeFile(
    snapshot,
    await kubectl(['get', 'pods,nodes,services,namespaces,networkpolicies', '-A', '-o', 'json']),
  );
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/**
 * Samples, each with an object that must have Events. raw-kmsg has no wall-clock stamps to move, and log-only has no
 * Events.
 */
const objectOf = {
  'conntrack-full': 'node-b',
  'dns-denied': 'web-6c8d5f7b94-kx2pv',
  // A static Pod: its Events have the uid of its manifest.
  'egress-denied': 'syslog-relay-node-b',
  'firewalld-reload': 'coredns-7d764666f9-j2xqk',
  'host-firewall': 'web-6c8d5f7b94-kx2pv',
  ipv6: 'web-6c8d5f7b94-8wzqd',
  martian: 'web-6c8d5f7b94-8wzqd',
  'nflog-ulogd': 'cart-79d4c5b6c8-hp6rw',
  'path-mtu': 'cart-79d4c5b6c8-hp6rw',
  'policy-deny': 'postgres-0',
  'port-scan': 'netcheck',
  // Completed.
  'reused-address': 'report-29920440-gq5ks',
};

test('the API server accepts the Events of the samples unchanged, and kubectl shows the same as the program', async () => {
  const logs = await Promise.all(Object.keys(objectOf).map(shifted));
  const replay = async (...args: string[]): Promise<string> =>
    (await runBundle(['replay', '--pods', snapshot, ...args, ...logs])).stdout;
  const input = await replay('--output', 'json');
  const events = input
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CoreEvent);
  expect(events.map(({ involvedObject }) => involvedObject.name)).toEqual(
    expect.arrayContaining(Object.values(objectOf)),
  );
  expect((await kubectl(['create', '-f', '-'], input)).match(/^event\/\S+ created$/gm)).toHaveLength(events.length);
  await checkStored(events);

  const before = nowSeconds();
  const described = new Map((await Promise.all(groupsOf(events).map(describedOf))).flat());
  const after = nowSeconds();
  // kubectl saw one of these seconds; which one is unknown.
  const printed: string[] = [];
  for (let now = before; now <= after; now++) printed.push(await replay('--now', rfc3339(new Date(now * 1000))));
  for (const [object, shown] of described) {
    const own = printed.map((output) => eventsSection(blockOf(object, output)));
    expect(shown).toBe(own.find((each) => each === shown) ?? own[0]);
  }
  const listed = await kubectl(['events', '-A']);
  expect(events.filter(({ message }) => !listed.includes(message))).toEqual([]);
});

/**
 * Returns the path of a sample that seems to have been logged lately. The packets of one sample are two and a half
 * minutes old, so that ages are shown with seconds.
 */
async function shifted(name: string): Promise<string> {
  const log = join(folder, `${name}.log`);
  const ended = Date.parse('2026-11-21T10:15:10Z') / 1000;
  const seconds = name === 'policy-deny' ? nowSeconds() - ended - 150 : shift;
  await writeFile(log, shiftLog(await readFile(join(samples, `${name}.log`), 'utf8'), seconds));
  return log;
}

async function checkStored(events: readonly CoreEvent[]): Promise<void> {
  const { body } = await controlPlane.request('GET', '/api/v1/events');
  const stored = new Map((body as { items: CoreEvent[] }).items.map((each) => [each.metadata.name, each]));
  // Items of a list do not name their kind.
  for (const { apiVersion: _, kind: __, ...event } of events) {
    expect(stored.get(event.metadata.name)).toMatchObject({ ...event, eventTime: null });
    expect(stored.get(event.metadata.name)).not.toHaveProperty('series');
  }
}

const placeOf = ({ kind, namespace }: ObjectReference): string => `${kind} ${namespace}`;

/** The objects that have Events, each once, grouped by kind and namespace. */
function groupsOf(events: readonly CoreEvent[]): ObjectReference[][] {
  const objects = new Map(events.map(({ involvedObject: each }) => [`${placeOf(each)}/${each.name}`, each]));
  return [...Map.groupBy(objects.values(), placeOf).values()];
}

/** kubectl's output for the Events of each object. */
async function describedOf(group: readonly ObjectReference[]): Promise<[ObjectReference, string][]> {
  const { kind, namespace = 'default' } = group[0] as ObjectReference;
  const text = await kubectl([
    'describe',
    kind,
    '-n',
    namespace,
    '--show-events=true',
    ...group.map(({ name }) => name),
  ]);
  const blocks = text.split(/^(?=Name: )/m);
  return group.map((object) => {
    const own = blocks.find((block) => /^Name: +(\S+)$/m.exec(block)?.[1] === object.name);
    return [object, eventsSection(own ?? text)];
  });
}

/** Returns the program's output for one object. */
function blockOf(object: ObjectReference, output: string): string {
  const block = output.split(/^(?=Name: )/m).find((each) => {
    const field = (key: string): string | undefined => new RegExp(`^${key}: +(\\S+)$`, 'm').exec(each)?.[1];
    return (
      (field('Kind') ?? 'Pod') === object.kind &&
      field('Namespace') === object.namespace &&
      field('Name') === object.name
    );
  });
  return block ?? '';
}

/** Cuts from the heading to the end of its indented lines. */
function eventsSection(text: string): string {
  return /^Events:\n(?: .*\n)*/m.exec(text)?.[0] ?? `no Events in:\n${text}`;
}

async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const result = await controlPlane.kubectl(args, { input });
  expect(result, `kubectl ${args.join(' ')}`).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
