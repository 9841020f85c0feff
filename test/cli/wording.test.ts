/**
 * The wording of all refusals of command lines, and of the notes on inputs. The other tests assert only subjects and
 * counts.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { readDropsOptions } from '../../src/cli/options/drops-options.ts';
import { readTopOptions } from '../../src/cli/options/top-options.ts';
import { readReplayOptions } from '../../src/cli/options/replay-options.ts';
import { readReportOptions } from '../../src/cli/options/report-options.ts';
import { expectLines, messageOf } from '../expected-file.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { parsed } from './parsed.ts';
import { replay } from './program.ts';
import { cluster, drop, policyDeny, policyDenyText, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

/**
 * By file in refused/, whose lines `$ COMMAND` are run. `_` stands for a space within a word, `""` for an empty word.
 */
const refused: Record<string, (command: Command) => unknown> = {
  run: () => {},
  replay: readReplayOptions,
  report: (command) => readReportOptions(command, false),
  drops: readDropsOptions,
  top: (command) => readTopOptions(command, true),
  others: () => {},
};

test.each(Object.entries(refused))('command lines of %s are refused in the expected words', async (name, read) => {
  const file = `refused/${name}.expected.txt`;
  const expected = readFileSync(join(import.meta.dirname, file), 'utf8').split('\n');
  const lines = expected.filter((line) => line.startsWith('$ ')).map((line) => line.slice('$ '.length));
  expect(lines.length).toBeGreaterThan(5);
  const said = lines.map((line) => {
    const words = line.split(' ').map((word) => word.replace('_', ' ').replace('""', ''));
    const [help = '', ...problems] = messageOf(() => read(parsed(...words)))
      .split('\n')
      .toReversed();
    expect(help).toMatch(/^Try: (?:kube-netfilter-tailer|kubectl drops).* --help$/);
    return [`$ ${line}`, ...problems.toReversed()].join('\n');
  });
  await expectLines(import.meta.dirname, file, said);
});

test('report does not print the page on a terminal', () => {
  expect(() => readReportOptions(parsed('report', 'a.ndjson'), true)).toThrow(
    '--output html: write the page to a file (report … > report.html), or take --output table',
  );
  expect(readReportOptions(parsed('report', 'a.ndjson', '-o', 'csv'), true)).toMatchObject({ output: 'csv' });
});

test('notes on the inputs of replay have the expected words', async () => {
  mkdirSync(path('logs'));
  const packed = gzipSync(policyDenyText.repeat(3));
  const [cut, binary, node, log, uptimes] = [
    write('cut.log.gz', packed.subarray(0, packed.length - 200)),
    write('binary.log', Buffer.concat([Buffer.from([0, 10]), Buffer.alloc(100_000, 'x'), Buffer.from(`\n${stamped}`)])),
    write('nodes.json', '{"kind":"Node","metadata":{"name":"node-b","uid":"u"}}'),
    write('kept.log', policyDenyText),
    write('uptimes.log', `[ 4504.000000] ${drop}\n[ 4564.000000] net0: nothing\n`),
  ];
  const args = ['-o', 'audit', '--node', 'nod-b', '--pods', node];
  const { err } = await replay([...args, path('none.log'), path('logs'), cut, binary, cluster, log, log, uptimes]);
  const notes = err.split('\n').map((line) => line.trimEnd());
  for (const note of [
    `kube-netfilter-tailer: ${path('none.log')}: no such file`,
    `kube-netfilter-tailer: ${path('logs')}: is a folder; name the files in it`,
    `kube-netfilter-tailer: ${cut}: the gzip data is damaged or cut off (unexpected end of file); what came before it was read`,
    `${binary}: looks binary; only lines of text in it are read`,
    `${binary}:2: a line of more than 64 KiB was skipped`,
    `${cluster}: looks like saved objects; they are given by --pods`,
    `${log}: is the same file as ${log}, which is read once`,
    `${node}: has no Pods, so no address is known to be a Pod's, and no Pod gets an Event.`,
  ])
    expect(notes).toContain(note);
  expect(err).toMatch(
    /^node +no object and no line knows nod-b \(--node\); they name node-b.*; did you mean node-b\?$/m,
  );
  expect(err).toMatch(/^time +\d+ lines? ha(?:s|ve) no wall-clock time: it was inferred/m);
});

test('unusable saved objects, and those of another cluster, are reported', async () => {
  const bad = write('no-items.json', '{"kind":"List","items":[]}');
  expect((await replay(['--pods', bad, policyDeny])).err).toBe(
    `kube-netfilter-tailer: --pods ${bad}: has no Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy or FelixConfiguration\n` +
      'kube-netfilter-tailer: nothing was read. For --pods: kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json\n' +
      'Try: kube-netfilter-tailer replay --help\n',
  );
  const pods = ['a', 'b'].map(
    (name, at) =>
      `{"kind":"Pod","metadata":{"name":"${name}","namespace":"shop","uid":"${name}"},"status":{"phase":"Running","podIPs":[{"ip":"10.99.0.${at + 1}"}]}}`,
  );
  const other = write('other.json', pods.join('\n'));
  expect((await replay(['-q', '--pods', other, policyDeny])).err).toBe(
    `kube-netfilter-tailer: ${other}: none of its Pods (2) owns any of the interfaces in the logs (36 lines name one): it is of another cluster, or of another time. ` +
      'Addresses may be given to the wrong Pods.\n',
  );
});
