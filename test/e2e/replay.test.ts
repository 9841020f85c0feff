import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { CoreEvent, ObjectReference } from '../../src/events/event.ts';
import { runBundle } from './bundle.ts';
import { connect } from './control-plane/connection.ts';
import { createObjects, type ObjectList } from './control-plane/objects.ts';
import { rfc3339, shiftLog, shiftObjects } from './time-shift.ts';

const samples = join(import.meta.dirname, '../../samples');
const controlPlane = connect(inject('controlPlane'));

// kubectl counts ages from the machine's clock: what happened at this moment of the samples' day happens now.
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

// Each sample has one of the objects that must have Events. raw-kmsg has no wall-clock stamps to move, log-only no Events.
test.each([
  ['conntrack-full', 'node-b'],
  ['dns-denied', 'web-6c8d5f7b94-kx2pv'],
  // A static Pod: its Events bear the uid of its manifest.
  ['egress-denied', 'syslog-relay-node-b'],
  ['firewalld-reload', 'coredns-7d764666f9-j2xqk'],
  ['host-firewall', 'web-6c8d5f7b94-kx2pv'],
  ['ipv6', 'web-6c8d5f7b94-8wzqd'],
  ['martian', 'web-6c8d5f7b94-8wzqd'],
  ['nflog-ulogd', 'cart-79d4c5b6c8-hp6rw'],
  ['path-mtu', 'cart-79d4c5b6c8-hp6rw'],
  ['policy-deny', 'postgres-0'],
  ['port-scan', 'netcheck'],
  // Completed.
  ['reused-address', 'report-29920440-gq5ks'],
])('%s', async (name, object) => {
  const published = await checkCase(name, shift);
  expect(published.map(({ involvedObject }) => involvedObject.name)).toContain(object);
});

test('ages are shown in minutes and seconds', async () => {
  const ended = Date.parse('2026-11-21T10:15:10Z') / 1000;
  await checkCase('policy-deny', nowSeconds() - ended - 150);
});

/** The Events are taken as they are, and kubectl shows of them what the program shows. Returns them. */
async function checkCase(name: string, seconds: number): Promise<readonly CoreEvent[]> {
  const log = join(folder, `${name}.log`);
  await writeFile(log, shiftLog(await readFile(join(samples, `${name}.log`), 'utf8'), seconds));
  const { stdout: input } = await runBundle(['replay', '--pods', snapshot, '--output', 'json', log]);
  const events = input
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CoreEvent);

  const created = await kubectl(['create', '-f', '-'], input);
  try {
    expect(created.match(/^event\/\S+ created$/gm)).toHaveLength(events.length);
    await checkStored(events);
    for (const object of distinctObjects(events)) await checkShown(object, log, events);
  } finally {
    // The next case may have Events of the same objects.
    await kubectl(['delete', '-f', '-'], input);
  }
  return events;
}

async function checkStored(events: readonly CoreEvent[]): Promise<void> {
  for (const event of events) {
    const { namespace, name } = event.metadata;
    const { body } = await controlPlane.request('GET', `/api/v1/namespaces/${namespace}/events/${name}`);
    expect(body).toMatchObject(event);
    expect(body).toMatchObject({ eventTime: null });
    expect(body).not.toHaveProperty('series');
  }
}

async function checkShown(object: ObjectReference, log: string, events: readonly CoreEvent[]): Promise<void> {
  const { kind, namespace = 'default', name } = object;
  const before = nowSeconds();
  const described = eventsSection(await kubectl(['describe', kind, name, '-n', namespace]));
  const after = nowSeconds();
  // Which second kubectl saw is not known, but it was one of these.
  const printed: string[] = [];
  for (let now = before; now <= after; now++) {
    const { stdout } = await runBundle(['replay', '--pods', snapshot, '--now', rfc3339(new Date(now * 1000)), log]);
    printed.push(eventsSection(blockOf(object, stdout)));
  }
  expect(described).toBe(printed.find((each) => each === described) ?? printed[0]);

  const listed = await kubectl(['events', '--for', `${kind.toLowerCase()}/${name}`, '-n', namespace]);
  for (const event of events.filter(({ involvedObject }) => idOf(involvedObject) === idOf(object))) {
    expect(listed).toContain(event.message);
  }
}

/** Returns what the program prints of one object. */
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

function distinctObjects(events: readonly CoreEvent[]): readonly ObjectReference[] {
  return [...new Map(events.map(({ involvedObject }) => [idOf(involvedObject), involvedObject])).values()];
}

function idOf({ kind, namespace, name }: ObjectReference): string {
  return `${kind} ${namespace}/${name}`;
}

async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const result = await controlPlane.kubectl(args, { input });
  expect(result, `kubectl ${args.join(' ')}`).toMatchObject({ code: 0, stderr: '' });
  return result.stdout;
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
