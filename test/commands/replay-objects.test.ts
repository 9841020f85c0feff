import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { type Outcome, replay } from './program.ts';
import { cluster, eventsIn, json, policyDeny, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

const list = (...items: string[]): string => `{"kind":"List","apiVersion":"v1","items":[\n${items.join(',\n')}\n]}\n`;
const pod = (name: string, address: string): string =>
  `{"kind":"Pod","metadata":{"name":"${name}","namespace":"shop","uid":"u-${name}"},"status":{"phase":"Running","podIPs":[{"ip":"${address}"}]}}`;

/** Ended before any LOG was read, with these reasons and the command that saves what is asked for. */
const endedAtOnce = (...reasons: string[]): Outcome => ({
  status: 2,
  out: '',
  err: [
    ...reasons.map((reason) => `kube-netfilter-tailer: --pods ${reason}\n`),
    'kube-netfilter-tailer: nothing was read. For --pods: kubectl get pods,nodes,services,namespaces -A -o json > cluster.json\n',
    'Try: kube-netfilter-tailer replay --help\n',
  ].join(''),
});

describe.concurrent('saved objects that cannot be read', () => {
  test.each<[string, string, string]>([
    [
      'comma.json',
      `{"kind":"List","items":[\n  {"kind":"Pod",}\n]}\n`,
      ': line 2, column 17: is not JSON as `kubectl get … -o json` prints it (Expected double-quoted property name)',
    ],
    [
      'cut.json',
      '{"kind":"List",\n"items":[\n',
      ': line 3, column 1: is not JSON as `kubectl get … -o json` prints it: it is cut off (Unexpected end of JSON input)',
    ],
    [
      'empty.json',
      '',
      ': line 1, column 1: is not JSON as `kubectl get … -o json` prints it: it is empty (Unexpected end of JSON input)',
    ],
    [
      'list.yaml',
      'apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n',
      ": is not JSON as `kubectl get … -o json` prints it: it looks like YAML, use -o json (Unexpected token 'a')",
    ],
    [
      'table.txt',
      'NAME    READY   STATUS\nweb-1   1/1     Running\n',
      ": is not JSON as `kubectl get … -o json` prints it: it is the table kubectl prints, use -o json (Unexpected token 'N')",
    ],
    [
      'wide-table.txt',
      'NAMESPACE   NAME    READY\nshop        web-1   1/1\n',
      ": is not JSON as `kubectl get … -o json` prints it: it is the table kubectl prints, use -o json (Unexpected token 'N')",
    ],
    ['no-items.json', '{"kind":"List","items":[]}', ': the list is empty'],
    ['no-kind.json', '{"web-1":"10.0.0.1"}', ': is JSON, but no Kubernetes object or list (it has no `kind`)'],
    ['number.json', '7', ': is JSON, but no Kubernetes object or list (it has no `kind`)'],
  ])('%s', async (name, content, problem) => {
    const file = write(name, content);
    expect(await replay(['--pods', file, policyDeny])).toStrictEqual(endedAtOnce(`${file}${problem}`));
  });

  test('no LOG is opened: opening a named pipe without a writer would never end', async () => {
    execFileSync('mkfifo', [path('fifo')]);
    expect(await replay(['--pods', path('no.json'), path('fifo')])).toStrictEqual(
      endedAtOnce(`${path('no.json')}: no such file`),
    );
  });

  test('a log that was taken for them', async () => {
    const { status, err } = await replay(['--pods', policyDeny, cluster]);
    expect([status, err.split('\n', 1)]).toStrictEqual([
      2,
      [expect.stringContaining(`--pods ${policyDeny}: near line 1: is not JSON`)],
    ]);
  });

  test('saved Nodes without a Pod are used, with a note on what is missing', async () => {
    const file = write('nodes.json', list('{"kind":"Node","metadata":{"name":"node-b","uid":"u"}}'));
    const outcome = await replay(['-o', 'audit', '--pods', file, '-'], { stdin: stamped });
    expect(outcome.status).toBe(0);
    expect(outcome.err).toContain(
      `${file}: has no Pods, so no address can be given to a Pod, and no Pod gets an Event.\n`,
    );
    expect((await replay(['-q', '--pods', file, '-'], { stdin: stamped })).err).toBe('');
  });

  test('UTF-16, as `>` of Windows PowerShell writes: it says so', async () => {
    const file = write('utf16.json', Buffer.from(`\uFEFF${list(pod('a', '10.244.1.30'))}`, 'utf16le'));
    const { status, err } = await replay(['-q', '--pods', file, policyDeny]);
    expect(status).toBe(2);
    expect(err).toContain('UTF-16');
  });

  test('a byte order mark does no harm', async () => {
    expect(
      await replay([
        '-q',
        '-o',
        'json',
        '--pods',
        write('bom.json', `\uFEFF${readFileSync(cluster, 'utf8')}`),
        policyDeny,
      ]),
    ).toStrictEqual(await replay([...json, policyDeny]));
  });

  test('missing, and a folder', async () => {
    expect(await replay(['-q', '--pods', path('no.json'), '--pods', path(), policyDeny])).toStrictEqual(
      endedAtOnce(`${path('no.json')}: no such file`, `${path()}: is a folder; name the files in it`),
    );
  });

  test('items without a name: each is named by its place, the others count', async () => {
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
    expect(outcome.err).toBe(
      `${file}: items[0]: the Pod has no metadata.name\n${file}: items[2]: the Pod lost has no metadata.namespace\n${file}: items[3]: the Service has no metadata.name\n`,
    );
    expect(eventsIn(outcome)).toStrictEqual(['PacketDrop shop/db x1 2026-11-21T10:15:04Z']);
  });

  test('of another cluster', async () => {
    const file = write('other.json', list(pod('a', '10.99.0.1'), pod('b', '10.99.0.2')));
    const { status, err } = await replay(['-q', '--pods', file, policyDeny]);
    expect(status).toBe(1);
    expect(err).toBe(
      `${file}: none of its Pods (2) owns any of the interfaces in the logs (36 lines name one): it is of another cluster, or of another time. ` +
        'Addresses may be given to the wrong Pods.\n',
    );
  });

  test('of another cluster, with a single Pod', async () => {
    const { err } = await replay(['-q', '--pods', write('other-1.json', list(pod('a', '10.99.0.1'))), policyDeny]);
    expect(err).toContain('of another cluster');
    expect(err).not.toContain('1 Pods');
  });

  test('one bad, one good', async () => {
    expect(await replay([...json, '--pods', path('no.json'), policyDeny])).toStrictEqual(
      endedAtOnce(`${path('no.json')}: no such file`),
    );
  });

  test('on standard input, and more of them than a pipe holds', async () => {
    // In blocks, so that the program is faster than what it reads, as it is with kubectl.
    const stdin = [readFileSync(cluster), ...Array.from({ length: 200 }, () => Buffer.alloc(100_000, ' '))];
    expect(await replay(['-q', '-o', 'json', '--pods', '-', policyDeny], { stdin })).toStrictEqual(
      await replay([...json, policyDeny]),
    );
  });
});
