/** The wording of all that command lines are refused with, and of the notes on inputs. The other tests assert subjects and counts only. */
import { mkdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { readDropsOptions } from '../../src/commands/options/drops-options.ts';
import { readReplayOptions } from '../../src/commands/options/replay-options.ts';
import { readReportOptions } from '../../src/commands/options/report-options.ts';
import { readTopOptions } from '../../src/commands/options/top-options.ts';
import { expectLines, messageOf } from '../expected-file.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { parsed } from './parsed.ts';
import { replay } from './program.ts';
import { cluster, drop, policyDeny, policyDenyText, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

/** Command lines that are refused; `_` stands for a space in a word, `""` for a word without letters. */
const refused: Record<string, [read: (command: Command) => unknown, lines: string]> = {
  run: [
    () => {},
    `run --colour red
run --nod a
run --logLevel=debug
run --hepl
run kern.log
run -- --node
run --node
run --include-noise
run --help=yes
run -x
run --no-node
run --max-nodes --log-level debug
run --colour red kern.log`,
  ],
  replay: [
    readReplayOptions,
    `replay
replay --pods a.json
replay kern.log -o xml
replay kern.log -o ""
replay kern.log -o audit --audit-peers x
replay kern.log -o audit --audit-ipv4-prefix 33
replay kern.log -o json --audit-opt-out=true
replay kern.log --color yes
replay kern.log --since 2w
replay kern.log --since 5
replay kern.log -n ""
replay kern.log --pod ""
replay kern.log --writes -o wide
replay kern.log --prefix my-drop
replay kern.log --prefix _=dropped
replay kern.log --prefix a=maybe
replay kern.log --prefix a=
replay kern.log --now yesterday
replay kern.log --now 5
replay kern.log --boot-time 1795232531
replay kern.log --time-zone Mars/Phobos
replay kern.log --explain a_line
replay kern.log --writes -o audit
replay - -
replay --pods - -
replay --pods - --pods - kern.log
replay kern.log --colour
replay kern.log -x
replay kern.log --quiet=yes
replay kern.log --node
replay kern.log --node ""
replay --color=x --time-zone=x --now=x`,
  ],
  report: [
    (command) => readReportOptions(command, false),
    `report
report a.ndjson -o markdwn
report a.ndjson -o yaml
report - --baseline -
report a.ndjson --basline=b
report a.ndjson --db`,
  ],
  drops: [
    readDropsOptions,
    `kubectl_drops a b
kubectl_drops Web
kubectl_drops web,type=Normal
kubectl_drops pod/
kubectl_drops svc/a.b
kubectl_drops node/a
kubectl_drops constructor/a
kubectl_drops -n Shop
kubectl_drops -n ../x
kubectl_drops -n
kubectl_drops -l ""
kubectl_drops -l app=web web-0
kubectl_drops -A deploy/web
kubectl_drops --node $(id)
kubectl_drops -o jsonpath={.x}
kubectl_drops --since 10
kubectl_drops --since 0s
kubectl_drops --contxt a`,
  ],
  top: [
    (command) => readTopOptions(command, true),
    `kubectl_drops top --sort port
kubectl_drops top --interval 0
kubectl_drops top --interval 1.5
kubectl_drops top --agents-port 65536
kubectl_drops top --agents-namespace ../x
kubectl_drops top --node ..
kubectl_drops top --count 3
kubectl_drops top web-0`,
  ],
  others: [
    () => {},
    `config prnt
config show
config check
config check a b
config print --effectiv
relpay kern.log
xyz
completion
completion csh`,
  ],
};

test.each(Object.entries(refused))(
  'what command lines of %s are refused with is as expected',
  async (name, [read, lines]) => {
    const said = lines.split('\n').map((line) => {
      const words = line.split(' ').map((word) => word.replace('_', ' ').replace('""', ''));
      return `$ ${line}\n${messageOf(() => read(parsed(...words)))}\n`;
    });
    await expectLines(import.meta.dirname, `refused/${name}.expected.txt`, said);
  },
);

test('report does not print the page on a terminal', () => {
  expect(() => readReportOptions(parsed('report', 'a.ndjson'), true)).toThrow(
    '--output html: write the page to a file (report … > report.html), or take --output table',
  );
  expect(readReportOptions(parsed('report', 'a.ndjson', '-o', 'csv'), true)).toMatchObject({ output: 'csv' });
});

test('notes on the inputs of replay are worded so', async () => {
  mkdirSync(path('logs'));
  const packed = gzipSync(policyDenyText.repeat(3));
  const [cut, binary, node, log, copy, uptimes] = [
    write('cut.log.gz', packed.subarray(0, packed.length - 200)),
    write('binary.log', Buffer.concat([Buffer.from([0, 10]), Buffer.alloc(100_000, 'x'), Buffer.from(`\n${stamped}`)])),
    write('nodes.json', '{"kind":"Node","metadata":{"name":"node-b","uid":"u"}}'),
    write('kept.log', policyDenyText),
    write('kept.log.gz', gzipSync(policyDenyText)),
    write('uptimes.log', `[ 4504.000000] ${drop}\n[ 4564.000000] net0: nothing\n`),
  ];
  const args = ['-o', 'audit', '--node', 'nod-b', '--pods', node];
  const { err } = await replay([
    ...args,
    path('none.log'),
    path('logs'),
    cut,
    binary,
    cluster,
    log,
    log,
    copy,
    uptimes,
  ]);
  const notes = err.split('\n').map((line) => line.trimEnd());
  for (const note of [
    `${path('none.log')}: no such file`,
    `${path('logs')}: is a folder; name the files in it`,
    `${cut}: the gzip data is damaged or cut off (unexpected end of file); what came before it was read`,
    `${binary}: looks binary; only lines of text in it are read`,
    `${binary}:2: a line of more than 64 KiB was skipped`,
    `${cluster}: looks like saved objects; they are given by --pods`,
    `${log}: is the same file as ${log}, which is read once`,
    `${copy}: is a copy of ${log}, which is read once`,
    `${node}: has no Pods, so no address can be given to a Pod, and no Pod gets an Event.`,
  ])
    expect(notes).toContain(note);
  expect(err).toMatch(
    /^node +no object and no line knows nod-b \(--node\); they name node-b.*; did you mean node-b\?$/m,
  );
  expect(err).toMatch(/^time +\d+ lines? ha(?:s|ve) no wall-clock time: it was inferred/m);
});

test('saved objects that cannot be used, and those of another cluster', async () => {
  const bad = write('no-items.json', '{"kind":"List","items":[]}');
  expect((await replay(['--pods', bad, policyDeny])).err).toBe(
    `kube-netfilter-tailer: --pods ${bad}: the list is empty\n` +
      'kube-netfilter-tailer: nothing was read. For --pods: kubectl get pods,nodes,services,namespaces,networkpolicies -A -o json > cluster.json\n' +
      'Try: kube-netfilter-tailer replay --help\n',
  );
  const pods = ['a', 'b'].map(
    (name, at) =>
      `{"kind":"Pod","metadata":{"name":"${name}","namespace":"shop","uid":"${name}"},"status":{"phase":"Running","podIPs":[{"ip":"10.99.0.${at + 1}"}]}}`,
  );
  const other = write('other.json', pods.join('\n'));
  expect((await replay(['-q', '--pods', other, policyDeny])).err).toBe(
    `${other}: none of its Pods (2) owns any of the interfaces in the logs (36 lines name one): it is of another cluster, or of another time. ` +
      'Addresses may be given to the wrong Pods.\n',
  );
});
