import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { program, replay as start, sample } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, drop, eventsIn, json, line, policyDeny, recordsIn, stamped, twoEvents, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

async function nodeOfRow(...args: string[]): Promise<unknown> {
  const { out } = await replay(['-q', '-o', 'audit', ...args, '-'], { stdin: stamped });
  return recordsIn(out)[0]?.['k8s.node.name'];
}

async function withoutObjects(node: string, stdin: string): Promise<string> {
  return (await replay(['-o', 'audit', '--node', node, '-'], { stdin })).err;
}

test('--time-zone is the zone of stamps', async () => {
  const outcome = await replay([...json, '--time-zone=Europe/Berlin', '-'], { stdin: stamped });
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T09:15:04Z'));
});

test('without --time-zone the zone of this machine does not matter', async () => {
  const outcome = await start([...json, '-'], { stdin: stamped, env: { TZ: 'America/New_York' } });
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

test('--now without a zone is UTC, like the stamps', async () => {
  const args = ['replay', '--now', '2026-11-21T20:00:00', '--pods', cluster, '-'];
  expect(await program(args, { stdin: stamped, env: { TZ: 'America/New_York' } })).toStrictEqual(
    await program(args, { stdin: stamped, env: { TZ: 'UTC' } }),
  );
});

test('--boot-time places uptimes', async () => {
  const outcome = await replay([...json, '--boot-time', '2026-11-21T09:00:00Z', '-'], {
    stdin: `[ 4504.000000] ${drop}\n`,
  });
  expect(eventsIn(outcome)).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

test('without --boot-time, the last line is assumed to be as late as possible, and the summary says so', async () => {
  const file = write('uptimes.log', `[ 4504.000000] ${drop}\n[ 4564.000000] net0: nothing\n`);
  const { out } = await replay(['--pods', cluster, '-o', 'audit', '-q', file]);
  expect(JSON.parse(out)).toMatchObject({ '@timestamp': '2026-11-21T19:59:00.000Z', 'event.time_estimated': true });
  expect((await replay(['--pods', cluster, file])).out).toMatch(/^time +1 /m);
});

test('--node overrides the node of every line', async () => {
  expect(await nodeOfRow()).toBe('node-b');
  expect(await nodeOfRow('--node', 'worker-7')).toBe('worker-7');
});

test.each<[string, string[], RegExp | undefined]>([
  ['of another name', ['--node', 'worker-7'], /^node .*\bworker-7\b.* node-a, .*node-b.*$/m],
  ['with a typo', ['--node', 'nod-b'], /^node .*\bnod-b\b.* node-b\?$/m],
  ['that a Node has', ['--node', 'node-a'], undefined],
  ['in capitals, with a domain', ['--node', 'NODE-B.example.com'], undefined],
  ['that is not given', [], undefined],
])('--node %s: an unknown name gives a note, and the log is read', async (_, args, expected) => {
  const { status, err } = await replay(['--pods', cluster, '-o', 'audit', ...args, '-'], { stdin: stamped });
  expect(status).toBe(0);
  if (expected === undefined) expect(err).not.toMatch(/^node /m);
  else expect(err).toMatch(expected);
});

test('--node without objects: gives a note only if the lines name other hosts', async () => {
  expect(await withoutObjects('node-b', stamped)).not.toMatch(/^node /m);
  expect(await withoutObjects('node-c', stamped)).toMatch(/^node .*\bnode-c\b.* node-b;/m);
  expect(await withoutObjects('node-c', `[ 4504.000000] ${drop}\n`)).not.toMatch(/^node /m);
  const hosts = Array.from({ length: 300 }, (_, i) => stamped.replaceAll('node-b', `h${i}`)).join('');
  expect(await withoutObjects('h299', hosts)).not.toMatch(/^node /m);
  expect(await withoutObjects('h300', hosts)).toMatch(/^node /m);
});

test('--prefix has precedence over the built-in meanings', async () => {
  const mine = line('Nov 21 10:15:04', drop.replace('calico-drop', 'my-rule'));
  const both = mine + line('Nov 21 10:15:05');
  expect(eventsIn(await replay([...json, '-'], { stdin: both }))).toStrictEqual(twoEvents('2026-11-21T10:15:05Z'));
  expect(eventsIn(await replay([...json, '--prefix', 'my-rule=dropped', '-'], { stdin: mine }))).toStrictEqual(
    twoEvents('2026-11-21T10:15:04Z'),
  );
  const args = [...json, '--prefix', 'my-rule=dropped', '--prefix', 'calico-drop=accepted', '-'];
  expect(eventsIn(await replay(args, { stdin: both }))).toStrictEqual(twoEvents('2026-11-21T10:15:04Z'));
});

test('--include-noise counts noise', async () => {
  const without = eventsIn(await replay([...json, sample('ipv6.log')]));
  const withNoise = eventsIn(await replay([...json, '--include-noise', sample('ipv6.log')]));
  expect(without.length).toBeGreaterThan(0);
  expect(withNoise).toStrictEqual(expect.arrayContaining(without));
  expect(withNoise.length).toBeGreaterThan(without.length);
});

test('--writes: each Event is created once and then patched, in the order of time', async () => {
  const { status, out } = await replay(['-q', '--pods', cluster, '--writes', policyDeny]);
  expect(status).toBe(0);
  const rows = out
    .trimEnd()
    .split('\n')
    .map((row) => row.split('  '));
  expect(rows.map(([time = '']) => time)).toStrictEqual(rows.map(([time = '']) => time).toSorted());
  const seen = new Set<string>();
  for (const [, verb, name = ''] of rows) {
    expect(verb).toBe(seen.has(name) ? 'patch' : 'create');
    seen.add(name);
  }
  expect(seen.size).toBe(eventsIn(await replay([...json, policyDeny])).length);
});

test('--writes -o json prints the requests', async () => {
  const { out } = await replay(['-q', '--pods', cluster, '--writes', '-o', 'json', '-'], { stdin: stamped });
  expect(recordsIn(out)).toMatchObject([
    { verb: 'create', event: { kind: 'Event', count: 1 } },
    { verb: 'create', event: { kind: 'Event', count: 1 } },
  ]);
});

test('--output json: prints Events that kubectl accepts, and nothing else on standard output', async () => {
  const { status, out, err } = await replay(['--pods', cluster, '-o', 'json', '-'], { stdin: stamped });
  expect(status).toBe(0);
  expect(err).toMatch(/^Events +2/m);
  for (const row of out.trimEnd().split('\n')) {
    expect(JSON.parse(row)).toMatchObject({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: expect.stringMatching(/^[a-z0-9.-]{1,253}$/), namespace: expect.any(String) },
      type: 'Warning',
      involvedObject: { apiVersion: 'v1', kind: 'Pod', uid: expect.any(String) },
      source: { component: 'kube-netfilter-tailer', host: 'node-b' },
    });
  }
});

test('--output audit prints a row for each dropped packet, named by file and line', async () => {
  const log = write(
    'audit.log',
    `# nothing\n${stamped}${line('Nov 21 10:15:05', drop.replace('calico-drop', 'calico-packet'))}${stamped}`,
  );
  const { status, out, err } = await replay(['--pods', cluster, '-o', 'audit', log]);
  expect(status).toBe(0);
  expect(err).toMatch(/^drops +2/m);
  expect(recordsIn(out)).toMatchObject([
    {
      'log.file.path': log,
      'log.file.line': 2,
      '@timestamp': '2026-11-21T10:15:04.000Z',
      'event.action': 'dropped',
      'destination.k8s.namespace.name': 'shop',
      'destination.k8s.pod.name': 'postgres-0',
      'destination.port': 5432,
    },
    { 'log.file.path': log, 'log.file.line': 4 },
  ]);
});

test('a table: the summary is below it, and --quiet omits it', async () => {
  const loud = await replay(['--pods', cluster, policyDeny]);
  const quiet = await replay(['--pods', cluster, '-q', policyDeny]);
  expect([loud.err, quiet.err]).toStrictEqual(['', '']);
  expect(loud.out.startsWith(quiet.out)).toBe(true);
  expect(loud.out.slice(quiet.out.length)).toMatch(/^\nlines +52 in 1 file/);
});
