import { expect, test } from 'vitest';
import { createGuessedTimes } from '../../src/cli/replay/guessed-times.ts';
import type { Drop } from '../../src/count/pipeline/pipeline.ts';
import { createClock } from '../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../src/read/sources/envelopes/read-envelope.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { replay } from './replaying.ts';
import { cluster, json, stamped, writerIn } from './scene.ts';

/** If a log has packets in an unsupported form, the summary names the missing part. */

const write = writerIn(temporaryFolder());
const hubble = 'shop/web-0:43006 (ID:124484) -> shop/db-0:5432 (ID:107099)';

test.each([
  ['hubble observe', `Jun 10 12:50:15.555: ${hubble} policy-verdict:none INGRESS DENIED (TCP Flags: SYN)`, 'jsonpb'],
  ['hubble observe', `Jun 10 12:50:15.555 [node-a]: ${hubble} Policy denied DROPPED (TCP Flags: SYN)`, 'jsonpb'],
  [
    'cilium monitor',
    'xx drop (Policy denied) flow 0x5 to endpoint 7, ifindex 5, file bpf_lxc.c:1, , identity 1->2: 10.0.0.1:4 -> 10.0.0.2:80 tcp SYN',
    'jsonpb',
  ],
  [
    'cilium monitor',
    'Policy verdict log: flow 0x0 local EP ID 170, remote ID 1, proto 6, ingress, action deny, match none, 10.0.0.1:4 -> 10.0.0.2:80 tcp SYN',
    'jsonpb',
  ],
  [
    'hubble observe',
    'Jun 10 12:50:15.555   shop/web-0:43006   10.0.2.2:80   Policy denied   DROPPED   TCP Flags: SYN',
    'jsonpb',
  ],
  [
    'Whisker',
    '{"start_time":"2026-11-21T10:15:00Z","action":"Deny","source_name":"web-*","dest_namespace":"shop","dest_port":80,"reporter":"Dst"}',
    'calico-flows',
  ],
  [
    "the kernel's audit log",
    'type=NETFILTER_PKT msg=audit(1795226670.836:576): mark=0x0 saddr=10.0.0.1 daddr=10.0.0.2 proto=6',
    'level audit',
  ],
  [
    "the kernel's audit log",
    'Nov 21 10:15:03 node-a kernel: audit: type=1324 audit(1795226670.836:576): mark=0x0 saddr=10.0.0.1 daddr=10.0.0.2 proto=6',
    'level audit',
  ],
  ['JSON of a', 'x <flow verdict="DROPPED"/> "flow":{"verdict":"DROPPED"}', 'not known'],
  [
    'LOG lines of',
    '"GET /Nov 21 10:15:03 node-a kernel: my-drop: IN=eth0 OUT= SRC=10.0.0.1 DST=10.0.0.2 LEN=60 TTL=63 PROTO=UDP SPT=1 DPT=2',
    'remove that text',
  ],
  ['the beginning of', 'Nov 21 10:15:03 node-a kernel: my-drop: IN=vxlan.calico', 'join them'],
  ['lines of a', '{"other":["acl_log(ovn_pinctrl0): name=x"', 'cut off after 41 bytes'],
])('%s: %s', async (name, line, advice) => {
  const { status, out } = await replay(['--pods', cluster, write('a.log', `{"a":1}\n${line}\n${line}\n`)]);
  expect(status).toBe(0);
  expect(out).toMatch(new RegExp(`^not read +2 lines have .*${name}.*: .*${advice}`, 'm'));
  expect(out).toMatch(/a\.log:2: /);
  expect(out).toContain(line.slice(30, 60));
  expect(out).not.toContain('LOG rule');
  const explained = await replay(['--explain', line]);
  expect(explained.out).toMatch(new RegExp(`^not read +it has .*${name}`, 'm'));
});

test('records of Hubble without a verdict count as read', async () => {
  const trace = '{"flow":{"verdict":"FORWARDED","event_type":{"type":4},"IP":{"source":"10.0.0.1"}},"node_name":"a"}\n';
  const { out } = await replay(['--pods', cluster, '-'], { stdin: trace });
  expect(out).not.toContain('not read');
});

test('text from outside in such a line is shown shortened and printable', async () => {
  const { out } = await replay(['--pods', cluster, '-'], {
    stdin: `xx drop (Policy denied) \u001B]0;title\u0007${'a'.repeat(9000)}\n`,
  });
  expect(out).not.toMatch(/[\u0007\u001B]/);
  expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThan(400);
});

/** The source address was that of two Pods, one after the other. */
const bare = stamped.slice(stamped.indexOf('calico'));
const reused = bare.replace(/SRC=\S+/, 'SRC=10.244.0.31').replaceAll(/(IN|OUT)=\S+/g, '$1=eth0');

test('a packet without a time, from an address that several Pods had, gives a warning and exit status 1', async () => {
  const guessed = await replay([...json, '-'], { stdin: reused });
  expect([guessed.status, guessed.err]).toStrictEqual([
    1,
    expect.stringMatching(
      /^kube-netfilter-tailer: 1 packet has no wall-clock time.*10\.244\.0\.31 was an address of \S+, \S+\. .*--boot-time/,
    ),
  ]);
  const unique = await replay([...json, '-'], { stdin: bare });
  expect([unique.status, unique.err]).toStrictEqual([0, '']);
});

const stampedBy: [how: string, line: string][] = [
  ['a syslog', `Nov 21 10:15:04 node-b kernel: ${reused}`],
  ['RFC 3339', `2026-11-21T10:15:04 node-b kernel: ${reused}`],
  ['OpenWrt', `Sat Nov 21 10:15:04 2026 kern.warn kernel: ${reused}`],
  ['dmesg -T', `[Sat Nov 21 10:15:04 2026] ${reused}`],
  ['journalctl -o short-full', `Sat 2026-11-21 10:15:04 CET node-b kernel: ${reused}`],
  ['dmesg -e', `[Nov21 10:15] ${reused}`],
  ['Go', `2026/11/21 10:15:04 ${reused}`],
  ['a collector', JSON.stringify({ time: '2026-11-21 10:15:04', message: reused.trim() })],
  ['logfmt', `time="2026-11-21 10:15:04" msg=${JSON.stringify(reused.trim())}`],
];

test.each(stampedBy)(
  'a stamp of %s without a zone is a guess, within a day of another Pod with the address',
  async (_, line) => {
    const guessed = await replay([...json, '-'], { stdin: `${line.trim()}\n` });
    expect([guessed.status, guessed.err]).toStrictEqual([
      1,
      expect.stringMatching(
        /^kube-netfilter-tailer: 1 packet has a time without a zone.*10\.244\.0\.31 was an address of \S+, \S+\. .*--time-zone/,
      ),
    ]);
    const known = await replay([...json, '--time-zone', 'UTC', '-'], { stdin: `${line.trim()}\n` });
    expect([known.status, known.err]).toStrictEqual([0, '']);
  },
);

test.each([
  ['a zone', `2026-11-21T10:15:04+00:00 node-b kernel: ${reused}`],
  ['UTC', `Sat 2026-11-21 10:15:04 UTC node-b kernel: ${reused}`],
  ['a number', JSON.stringify({ time: Date.UTC(2026, 10, 21, 10, 15), message: reused.trim() })],
  ['another day', `2026-11-24T10:15:04 node-b kernel: ${reused}`],
])('a stamp with %s is not a guess', async (_, line) => {
  const { status, err } = await replay([...json, '-'], { stdin: `${line.trim()}\n` });
  expect([status, err]).toStrictEqual([0, '']);
});

test('a stamp without a year is a guess if another Pod had the address on that date of an earlier year', () => {
  const clock = createClock({ latest: Date.UTC(2026, 10, 21, 20) });
  const { time, timeIsExact, timeLacks } = readEnvelope(`Nov 21 10:15:04 node-b kernel: ${reused}`, clock);
  const pods = [
    { namespace: 'shop', name: 'old-0', from: Date.UTC(2025, 10, 1), until: Date.UTC(2025, 11, 1) },
    { namespace: 'shop', name: 'new-0', from: Date.UTC(2026, 10, 1), until: Infinity },
  ];
  const end = { address: '10.65.7.7', evidence: 'address' };
  const drop = {
    line: { time, timeIsExact, timeLacks },
    meaning: { ends: { source: end, destination: end }, noise: undefined },
    weight: 1,
  } as unknown as Drop;
  const problemsWith = (now: number | undefined): string[] => {
    const guessed = createGuessedTimes({ podsWith: () => pods }, { zone: Date.UTC, now }, undefined);
    guessed.sink.drop(drop);
    return guessed.problems();
  };
  expect(problemsWith(undefined)).toStrictEqual([
    expect.stringMatching(/^1 packet has a time without a year.*10\.65\.7\.7.*shop\/old-0, shop\/new-0\. .*--now/),
  ]);
  expect(problemsWith(Date.UTC(2026, 10, 22))).toStrictEqual([]);
});
