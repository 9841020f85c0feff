/** The wording of all that command lines are refused with, and of the notes on inputs. The other tests assert subjects and counts only. */
import { mkdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { readDropsOptions } from '../../src/commands/options/drops-options.ts';
import { readReplayOptions } from '../../src/commands/options/replay-options.ts';
import { readReportOptions } from '../../src/commands/options/report-options.ts';
import { readTopOptions } from '../../src/commands/options/top-options.ts';
import { UsageError } from '../../src/commands/options/command.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { parsed } from './parsed.ts';
import { replay } from './program.ts';
import { cluster, drop, policyDeny, policyDenyText, stamped, writerIn } from './scene.ts';

const path = temporaryFolder();
const write = writerIn(path);

describe('run', () => {
  test.each<[string[], string]>([
    [['--colour', 'red'], "unknown option '--colour'"],
    [['--nod', 'a'], "unknown option '--nod' (Did you mean --node?)"],
    [['--logLevel=debug'], "unknown option '--logLevel=debug'"],
    [['--hepl'], "unknown option '--hepl' (Did you mean --help?)"],
    [['kern.log'], "too many arguments for 'run'. Expected 0 arguments but got 1."],
    [['--', '--node'], "too many arguments for 'run'. Expected 0 arguments but got 1."],
    [['--node'], "option '--node <NAME>' argument missing"],
    [['--include-noise'], "option '--include-noise <true|false>' argument missing"],
    [['--help=yes'], "unknown option '--help=yes'"],
    [['-x'], "unknown option '-x'"],
    [['--colour', 'red', 'kern.log'], "unknown option '--colour'"],
  ])('says what is wrong with %j', (args, problem) => {
    expect(() => parsed('run', ...args)).toThrow(new UsageError([problem], 'kube-netfilter-tailer run'));
  });
});

describe('replay', () => {
  test.each<[string[], string[]]>([
    [[], ['no LOG is named; - reads standard input']],
    [['--pods', 'a.json'], ['no LOG is named; - reads standard input']],
    [['kern.log', '-o', 'xml'], ['--output xml: must be one of table, wide, json, yaml, audit, mermaid, html']],
    [['kern.log', '-o', ''], ['--output : must be one of table, wide, json, yaml, audit, mermaid, html']],
    [['kern.log', '-o', 'audit', '--audit-peers', 'x'], ['--audit-peers x: must be one of shown, redacted']],
    [['kern.log', '-o', 'audit', '--audit-ipv4-prefix', '33'], ['--audit-ipv4-prefix 33: must be 0 to 32']],
    [['kern.log', '-o', 'json', '--audit-opt-out=true'], ['--audit-opt-out: is for --output audit']],
    [['kern.log', '--color', 'yes'], ['--color yes: must be one of auto, always, never']],
    [['kern.log', '--since', '2w'], ['--since 2w: must be a time such as 2026-11-21T03:42:11Z, or 30m, 2h, 3d']],
    [['kern.log', '--pod', ''], ['--pod: has no value']],
    [['kern.log', '--writes', '-o', 'wide'], ['--writes and --output wide exclude each other']],
    [
      ['kern.log', '--prefix', 'my-drop'],
      ['--prefix my-drop: must be NAME=VERDICT, for example --prefix my-drop=dropped'],
    ],
    [
      ['kern.log', '--prefix', ' =dropped'],
      ['--prefix  =dropped: must be NAME=VERDICT, for example --prefix my-drop=dropped'],
    ],
    [
      ['kern.log', '--prefix', ' =dropped'],
      ['--prefix  =dropped: must be NAME=VERDICT, for example --prefix my-drop=dropped'],
    ],
    [
      ['kern.log', '--prefix', 'a=maybe'],
      ['--prefix a=maybe: the verdict must be one of dropped, rejected, logged, accepted'],
    ],
    [['kern.log', '--prefix', 'a='], ['--prefix a=: the verdict must be one of dropped, rejected, logged, accepted']],
    [['kern.log', '--now', 'yesterday'], ['--now yesterday: must be a time such as 2026-11-21T03:42:11Z']],
    // A lone number is no time: V8 would take it for a month.
    [['kern.log', '--now', '5'], ['--now 5: must be a time such as 2026-11-21T03:42:11Z']],
    [
      ['kern.log', '--boot-time', '1795232531'],
      ['--boot-time 1795232531: must be a time such as 2026-11-21T03:42:11Z'],
    ],
    [
      ['kern.log', '--time-zone', 'Mars/Phobos'],
      ['--time-zone Mars/Phobos: is no time zone; try Europe/Berlin, UTC or +02:00'],
    ],
    [['kern.log', '--explain', 'a line'], ['--explain takes one line and no LOG']],
    [['kern.log', '--writes', '-o', 'audit'], ['--writes and --output audit exclude each other']],
    [['-', '-'], ['standard input (-) can be read only once']],
    [['--pods', '-', '-'], ['standard input (-) can be read only once']],
    [['--pods', '-', '--pods', '-', 'kern.log'], ['standard input (-) can be read only once']],
    [['kern.log', '--colour'], ["unknown option '--colour' (Did you mean --color?)"]],
    [['kern.log', '-x'], ["unknown option '-x'"]],
    [['kern.log', '--quiet=yes'], ["unknown option '--quiet=yes'"]],
    [['kern.log', '--node'], ["option '--node <NAME>' argument missing"]],
    [['kern.log', '--node', ''], ['--node: has no value']],
    [
      ['--color=x', '--time-zone=x', '--now=x'],
      [
        '--color x: must be one of auto, always, never',
        '--now x: must be a time such as 2026-11-21T03:42:11Z',
        '--time-zone x: is no time zone; try Europe/Berlin, UTC or +02:00',
        'no LOG is named; - reads standard input',
      ],
    ],
  ])('says what is wrong with %j', (args, problems) => {
    expect(() => readReplayOptions(parsed('replay', ...args))).toThrow(
      new UsageError(problems, 'kube-netfilter-tailer replay'),
    );
  });
});

describe('report', () => {
  test.each<[string[], string]>([
    [[], 'no ROWS are named; - reads standard input'],
    [
      ['a.ndjson', '-o', 'markdwn'],
      '--output markdwn: must be one of html, table, markdown, csv, json; did you mean markdown?',
    ],
    [['a.ndjson', '-o', 'yaml'], '--output yaml: must be one of html, table, markdown, csv, json'],
    [['-', '--baseline', '-'], 'standard input (-) can be read only once'],
    [['a.ndjson', '--basline=b'], "unknown option '--basline=b' (Did you mean --baseline?)"],
    [['a.ndjson', '--db'], "option '--db <FILE>' argument missing"],
  ])('says what is wrong with %j', (args, problem) => {
    expect(() => readReportOptions(parsed('report', ...args), false)).toThrow(
      new UsageError([problem], 'kube-netfilter-tailer report'),
    );
  });
});

test('report does not print the page on a terminal', () => {
  expect(() => readReportOptions(parsed('report', 'a.ndjson'), true)).toThrow(
    new UsageError(
      ['--output html: write the page to a file (report … > report.html), or take --output table'],
      'kube-netfilter-tailer report',
    ),
  );
  expect(readReportOptions(parsed('report', 'a.ndjson', '-o', 'csv'), true)).toMatchObject({ output: 'csv' });
});

describe('drops', () => {
  test.each<[string[], ...string[]]>([
    [['a', 'b'], 'too many arguments. Expected 1 argument but got 2.'],
    [['Web'], 'Web: is not the name of a Pod'],
    [['web,type=Normal'], 'web,type=Normal: is not the name of a Pod'],
    [['pod/'], 'pod/: is not the name of a Pod'],
    [['svc/a.b'], 'svc/a.b: is not the name of a service'],
    [
      ['node/a'],
      'node/a: must be POD, or one of deployment, statefulset, daemonset, replicaset, job, service and /NAME',
    ],
    [
      ['constructor/a'],
      'constructor/a: must be POD, or one of deployment, statefulset, daemonset, replicaset, job, service and /NAME',
    ],
    [['-n', 'Shop'], '--namespace Shop: is no name of a Namespace'],
    [['-n', '../x'], '--namespace ../x: is no name of a Namespace'],
    [['-n'], "option '-n, --namespace <NAMESPACE>' argument missing"],
    [['-l', ''], '--selector: must have 1 to 1000 characters'],
    [['-l', 'app=web', 'web-0'], '--selector and a name exclude each other'],
    [['-A', 'deploy/web'], 'deployment/web: is in one namespace; --all-namespaces excludes it'],
    [['--node', '$(id)'], '--node $(id): is not the name of a Node'],
    [['-o', 'jsonpath={.x}'], '--output jsonpath={.x}: must be wide, json, yaml, name; for others: kubectl get events'],
    [['--since', '10'], '--since 10: must be a duration such as 90s, 10m or 2h'],
    [['--since', '0s'], '--since 0s: must be a duration such as 90s, 10m or 2h'],
    [['--contxt', 'a'], "unknown option '--contxt' (Did you mean --context?)"],
  ])('says what is wrong with %j', (args, ...problems) => {
    expect(() => readDropsOptions(parsed('kubectl drops', ...args))).toThrow(new UsageError(problems, 'kubectl drops'));
  });
});

describe('drops top', () => {
  test.each<[string[], ...string[]]>([
    [['--sort', 'port'], '--sort port: must be one of rate, packets, last, from, to'],
    [['--interval', '0'], '--interval 0: must be a whole number from 1 to 3600'],
    [['--interval', '1.5'], '--interval 1.5: must be a whole number from 1 to 3600'],
    [['--agents-port', '65536'], '--agents-port 65536: must be a whole number from 1 to 65535'],
    [['--agents-namespace', '../x'], '--agents-namespace ../x: is no name of a Namespace'],
    [['--node', '..'], '--node ..: is not the name of a Node'],
    [['--count', '3'], '--count: is for --plain'],
    [['web-0'], "too many arguments for 'top'. Expected 0 arguments but got 1."],
  ])('says what is wrong with %j', (args, ...problems) => {
    expect(() => readTopOptions(parsed('kubectl drops', 'top', ...args), true)).toThrow(
      new UsageError(problems, 'kubectl drops top'),
    );
  });
});

test.each<[string[], string]>([
  [['config', 'prnt'], "unknown command 'prnt' (Did you mean print?)"],
  [['config', 'show'], "unknown command 'show'"],
  [['config', 'check'], "missing required argument 'FILE'"],
  [['config', 'check', 'a', 'b'], "too many arguments for 'check'. Expected 1 argument but got 2."],
  [['config', 'print', '--effectiv'], "unknown option '--effectiv' (Did you mean --effective?)"],
  [['relpay', 'kern.log'], "unknown command 'relpay' (Did you mean replay?)"],
  [['xyz'], "unknown command 'xyz'"],
  [['completion'], "missing required argument 'SHELL'"],
  [
    ['completion', 'csh'],
    "command-argument value 'csh' is invalid for argument 'SHELL'. Allowed choices are bash, zsh, fish, kubectl.",
  ],
])('says what is wrong with %j', (args, problem) => {
  expect(() => parsed(...args)).toThrow(`kube-netfilter-tailer: ${problem}\nTry: `);
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
