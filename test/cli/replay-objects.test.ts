import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { notedIn, type Outcome, replay as start, subjectsIn } from './program.ts';
import { replay } from './replaying.ts';
import { cluster, eventsIn, json, policyDeny, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

const list = (...items: string[]): string => `{"kind":"List","apiVersion":"v1","items":[\n${items.join(',\n')}\n]}\n`;
const pod = (name: string, address: string): string =>
  `{"kind":"Pod","metadata":{"name":"${name}","namespace":"shop","uid":"u-${name}"},"status":{"phase":"Running","podIPs":[{"ip":"${address}"}]}}`;

/** Expects that the run ended before any LOG was read, because these files are wrong. */
function expectEnd({ status, out, err }: Outcome, ...files: string[]): void {
  expect([status, out]).toStrictEqual([2, '']);
  expect(subjectsIn(err).slice(0, -1)).toStrictEqual(files.map((file) => `--pods ${file}`));
  expect(err).toContain('kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json');
}

test('no LOG is opened, because opening a named pipe without a writer would never end', async () => {
  execFileSync('mkfifo', [path('fifo')]);
  // In a process of its own, which can be killed if it waits for a writer.
  expectEnd(await start(['--pods', path('no.json'), path('fifo')]), path('no.json'));
});

test('a log given as objects is refused', async () => {
  expectEnd(await replay(['--pods', policyDeny, cluster]), policyDeny);
});

test('saved Nodes without a Pod are used, with a note on the missing objects', async () => {
  const file = write('nodes.json', list('{"kind":"Node","metadata":{"name":"node-b","uid":"u"}}'));
  const outcome = await replay(['-o', 'audit', '--pods', file, '-'], { stdin: stamped });
  expect(outcome.status).toBe(0);
  expect(notedIn(outcome.err)).toContain(file);
  expect((await replay(['-q', '--pods', file, '-'], { stdin: stamped })).err).toBe('');
});

test('items without a name are named by their place, and the others count', async () => {
  const file = write(
    'nameless.json',
    list(
      '{"kind":"Pod","metadata":{"namespace":"shop"}}',
      pod('db', '10.244.1.30'),
      '{"kind":"Pod","metadata":{"name":"lost"}}',
      '{"kind":"Service","metadata":{}}',
    ),
  );
  const outcome = await replay(['-q', '-o', 'json', '--pods', file, '-'], { stdin: stamped });
  expect(outcome.status).toBe(1);
  expect(outcome.err.match(/(?<=: )items\[\d\](?=: )/g)).toStrictEqual(['items[0]', 'items[2]', 'items[3]']);
  expect(eventsIn(outcome)).toStrictEqual(['PacketDrop shop/db x1 2026-11-21T10:15:04Z']);
});

test('objects on standard input may exceed the size of a pipe', async () => {
  // In blocks, so that the program can be faster than its input, as with kubectl.
  const stdin = [readFileSync(cluster), ...Array.from({ length: 200 }, () => Buffer.alloc(100_000, ' '))];
  expect(await start(['-q', '-o', 'json', '--pods', '-', policyDeny], { stdin })).toStrictEqual(
    await replay([...json, policyDeny]),
  );
});
