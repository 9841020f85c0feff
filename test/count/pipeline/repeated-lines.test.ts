import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReplayIncidents } from '../../../src/cli/replay/incidents.ts';
import { createReadTotals } from '../../../src/cli/replay/log-target.ts';
import { readLog } from '../../../src/cli/replay/read-log.ts';
import { createRecorder } from '../../../src/publish/events/recorder.ts';
import type { LogLine } from '../../../src/base/model/log-line.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { messageOf } from '../../../src/count/pipeline/message.ts';
import { createPipeline, type Pipeline } from '../../../src/count/pipeline/pipeline.ts';
import { createStatistics } from '../../../src/count/pipeline/statistics.ts';
import { createEndpointFinder } from '../../../src/explain/resolving/endpoint-finder.ts';
import { interfaceNames } from '../../../src/explain/resolving/pod-index.ts';
import { objectKey, podRef } from '../../../src/base/model/endpoint.ts';
import { windowOf } from '../../../src/count/series/times.ts';
import { createSeriesTable } from '../../../src/count/series/series.ts';
import { clock, cluster, node, pod } from '../../builders.ts';
import { printedLine } from '../../properties/arbitraries.ts';
import { runs } from '../../runs.ts';
import { forAllAsync } from '../../for-all.ts';

const [veth = ''] = interfaceNames('shop', 'web-0');
const flows = [
  `calico-drop: IN=eth0 OUT=${veth} MAC=ee:ee:ee:ee:ee:ee:c6:22:0b:f9:63:81:08:00 SRC=10.65.2.7 DST=10.65.1.4 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=17 DF PROTO=TCP SPT=40112 DPT=5432 WINDOW=64240 RES=0x00 SYN URGP=0 `,
  `calico-drop: IN=${veth} OUT=eth0 SRC=10.65.1.4 DST=10.65.2.7 LEN=60 TOS=0x00 PREC=0x00 TTL=63 ID=18 DF PROTO=TCP SPT=5432 DPT=40112 WINDOW=64240 RES=0x00 ACK SYN URGP=0 `,
  `DROP:IN=eth0 OUT= SRC=10.65.1.5 DST=10.65.1.4 LEN=72 TOS=0x00 PREC=0x00 TTL=64 ID=5 PROTO=UDP SPT=1900 DPT=53 LEN=52 `,
  `DROPIN=eth0 OUT=${veth} SRC=10.65.1.5 DST=10.65.1.4 LEN=72 TOS=0x00 PREC=0x00 TTL=64 ID=5 PROTO=UDP SPT=68 DPT=67 LEN=52`,
  `fw-allow: IN=eth0 OUT= SRC=10.65.1.5 DST=10.65.1.4 LEN=72 TTL=64 ID=5 PROTO=UDP SPT=33000 DPT=33001 LEN=52 `,
  `[UFW BLOCK] IN=eth0 OUT= SRC=fd00:65::9 DST=fd00:65::4 LEN=80 TC=0 HOPLIMIT=64 FLOWLBL=1234 PROTO=TCP SPT=50000 DPT=443 WINDOW=1 RES=0x00 SYN URGP=0 `,
  'IN=eth0 OUT= SRC=192.168.7.1 DST=10.65.1.4 LEN=88 TTL=64 ID=5 PROTO=ICMP TYPE=3 CODE=3 [SRC=10.65.1.4 DST=192.168.7.1 LEN=60 TTL=63 ID=9 PROTO=UDP SPT=40000 DPT=53 LEN=40 ] ',
  'ID=4 IN=x drop: IN=eth0 OUT= SRC=10.65.1.5 DST=10.65.1.4 LEN=72 TTL=64 ID=5 PROTO=TCP SPT=2000 DPT=80 SEQ=1 ACK=2 WINDOW=9 ACK URGP=0 ',
  'nf_conntrack: table full, dropping packet',
];
const objects = {
  ...cluster(),
  nodes: [node()],
  pods: [
    pod({ addresses: ['10.65.1.4', 'fd00:65::4'] }),
    // Later another Pod has its address.
    pod({ name: 'web-1', addresses: ['10.65.1.5'], from: clock('09:00:10'), until: clock('09:00:25') }),
    pod({ name: 'web-2', addresses: ['10.65.1.5'], from: clock('09:00:30') }),
  ],
};

/** Usual values of such fields, and a few impossible ones. */
const value = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 32_768, max: 65_535 }).map(String) },
  { weight: 3, arbitrary: fc.constantFrom('1023', '1024', '32767', '32768', '65535', '68') },
  { weight: 1, arbitrary: fc.constantFrom('', '007', 'x', '12x', '-1', '65536', '4294967296', '99999999999') },
);

type Envelope = (at: number, random: number) => string;
const iso = (at: number): string => new Date(at).toISOString();
const envelopes: readonly Envelope[] = [
  (at) => `Nov 21 ${iso(at).slice(11, 19)} node-a kernel: `,
  (at, random) =>
    `Nov 21 ${iso(at).slice(11, 19)} node-a kernel: [${String(random % 90_000).padStart(5)}.${String(random).padStart(6, '0')}] `,
  (at, random) => `${iso(at).slice(0, 19)}.${String(random).padStart(6, '0')}+00:00 node-a kernel: [${random}.5] `,
  (at, random) => `${iso(at).slice(0, 19)}.${random}Z node-a `,
  (at) => `${iso(at).slice(0, 10)} ${iso(at).slice(11, 19)} node-a kernel: `,
  (at) => `${iso(at).slice(0, 19)}+01:00 node-a ulogd[7]: `,
  (at) => `${iso(at)} stdout F kernel: `,
  (at) => `${iso(at).slice(0, 19)},25 `,
  (at) => `<4>1 ${iso(at)} node-a kernel - - - `,
  (at) => `Nov 21 ${iso(at).slice(11, 19)}.123456 node-a kernel: `,
  (at, random) => `Nov 21 ${iso(at).slice(11, 19)} node-a sshd[${random}]: `,
  (_, random) => `[${random}.25] `,
  () => '',
];

/** Shortly before the end of an hour of the Pod's Events. */
const shortBeforeHour = windowOf(clock('09:00:00'), objectKey(podRef(pod()))).end - 4000;

const step = fc.record({
  /** The index of the log's text. */
  text: fc.nat(2),
  values: fc.array(value, { minLength: 8, maxLength: 8 }),
  seconds: fc.constantFrom(0, 0, 0, 0.25, 1, 7),
  random: fc.nat(999_999),
  ending: fc.constantFrom('\n', '\n', '\n', '\r\n'),
  /** The position of a byte that is changed. */
  changed: fc.option(fc.nat(300), { freq: 25 }),
  /** An envelope in place of the log's own. */
  envelope: fc.option(fc.constantFrom(...envelopes), { freq: 15 }),
});

const log = fc.record({
  texts: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...flows) },
      printedLine.map(({ line }) => line.replaceAll('\n', ' ')),
    ),
    { minLength: 3, maxLength: 3 },
  ),
  steps: fc.array(step, { minLength: 30, maxLength: 80 }),
  envelope: fc.constantFrom(...envelopes),
  blockSize: fc.constantFrom(64, 1000, 65_536),
  node: fc.constantFrom(undefined, 'node-a'),
  start: fc.constantFrom(clock('09:00:00'), shortBeforeHour),
});

type Log = typeof log extends fc.Arbitrary<infer T> ? T : never;

function written({ texts, steps, envelope, start }: Log): Buffer {
  let at = start;
  const lines = steps.map((each) => {
    at += each.seconds * 1000;
    let next = 0;
    const text = (texts[each.text] ?? '').replaceAll(
      /\b(LEN|TTL|ID|SPT|SEQ|ACK|WINDOW|HOPLIMIT|FLOWLBL)=\d+/g,
      (_, key: string) => `${key}=${each.values[next++ % each.values.length]}`,
    );
    const { changed, random } = each;
    const body = changed === null ? text : `${text.slice(0, changed)}${random % 10}${text.slice(changed + 1)}`;
    return `${(each.envelope ?? envelope)(at, random)}${body}${each.ending}`;
  });
  return Buffer.from(lines.join(''), 'latin1');
}

/** Returns everything that a log is read into, and how many of its lines were handed over as text. */
async function read(bytes: Buffer, blockSize: number, nodeName: string | undefined, isFast: boolean) {
  const endpoints = createEndpointFinder(objects);
  const statistics = createStatistics();
  const writes: unknown[] = [];
  const recorder = createRecorder({
    createTable: () => createSeriesTable(),
    messageOf,
    onWrite: (write) => writes.push(structuredClone(write)),
  });
  const incidents = createReplayIncidents({ objects, endpoints, felixOf: () => undefined, recorder });
  const pipeline: Pipeline = createPipeline({
    endpoints,
    prefixes: createPrefixTable([{ prefix: 'IN', verdict: 'dropped' }]),
    statistics,
    node: nodeName,
    programsAnywhere: true,
    includeNoise: false,
    counts: incidents.countsOf,
    isByLines: true,
  });
  let taken = 0;
  const totals = createReadTotals();
  const input = {
    name: 'kern.log',
    size: undefined,
    modified: undefined,
    bytesRead: () => 0,
    async read(onBlock: (block: Buffer) => void) {
      for (let at = 0; at < bytes.length; at += blockSize) onBlock(bytes.subarray(at, at + blockSize));
    },
  };
  await readLog(
    input,
    { latest: clock('12:00:00') },
    {
      pipeline: {
        take(each: LogLine, origin) {
          taken++;
          pipeline.take(each, origin);
        },
        repeats: isFast ? pipeline.repeats : undefined,
      },
      problem: () => {},
      totals,
      streams: { err: () => {} },
      options: { quiet: true, node: nodeName },
    },
  );
  incidents.finish();
  recorder.finish();
  const { observed: _, resolved: __, ...numbers } = statistics;
  return { taken, result: { totals, numbers, writes, events: [...recorder.events.values()] } };
}

test('a log gives the same result whether or not repeated lines become text', async () => {
  await forAllAsync([log], { numRuns: runs(500) }, async (each) => {
    const bytes = written(each);
    const fast = await read(bytes, each.blockSize, each.node, true);
    const slow = await read(bytes, each.blockSize, each.node, false);
    expect(fast.result).toEqual(slow.result);
  });
});

/** Makes the lines of a flood. Each has its own client port and numbers; some have a port that no client uses. */
function flood(text: string, envelope: Envelope): Buffer {
  const ports = [40_112, 40_113, 60_000, 1024, 1023, 68, 65_535, 65_536, 32_767, 32_768];
  const lines = Array.from({ length: 240 }, (_, n) =>
    [
      envelope(clock('09:00:00') + n * 250, n * 4001),
      text
        .replace(/\bSPT=\d+/, `SPT=${ports[n % 17 > 6 ? n % 3 : n % ports.length]}`)
        .replaceAll(/\b(LEN|TTL|ID)=\d+/g, (_field, key: string) => `${key}=${(n * 7) % 250}`),
      '\n',
      // This line has the time of the one before.
      n % 40 === 39 ? `${flows[0]}\n` : '',
    ].join(''),
  );
  return Buffer.from(lines.join(''), 'latin1');
}

test.for(flows.flatMap((text) => [...envelopes.keys()].map((index) => [index, text] as const)))(
  'a flood in envelope %i gives the same result whether or not its lines become text: %s',
  async ([index, text]) => {
    const bytes = flood(text, envelopes[index] as Envelope);
    const fast = await read(bytes, 65_536, undefined, true);
    const slow = await read(bytes, 65_536, undefined, false);
    expect(fast.result).toEqual(slow.result);
  },
);

test.for([...envelopes.slice(0, 6).entries()])(
  'two lines of a flow in envelope %i become text for each span in which addresses keep their owners',
  async ([, envelope]) => {
    const text = Array.from(
      { length: 40 },
      (_, second) =>
        `${envelope(clock('09:00:31') + second * 100, second + 100)}${(flows[0] as string).replace('ID=17', `ID=${second * 1000}`).replace('40112', `${40_000 + second}`)}\n`,
    ).join('');
    expect((await read(Buffer.from(text, 'latin1'), 65_536, undefined, true)).taken).toBe(2);
  },
);

test.each([
  ['IPv4', (flows[0] as string).replace('WINDOW=', 'SEQ=1 ACK=2 WINDOW=')],
  ['IPv6', flows[5] as string],
])('two lines of a flow become text, whichever numbers of its packets differ: %s', async (_, text) => {
  const varied = /\b(LEN|TTL|ID|SPT|SEQ|ACK|WINDOW|HOPLIMIT|FLOWLBL)=\d+/g;
  const lines = Array.from(
    { length: 40 },
    (_line, n) =>
      `${envelopes[0]?.(clock('09:00:31'), n)}${text.replaceAll(varied, (_field, key: string) => `${key}=${40_000 + n}`)}\n`,
  );
  expect((await read(Buffer.from(lines.join(''), 'latin1'), 65_536, undefined, true)).taken).toBe(2);
});
