import { appendFileSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createReadTotals } from '../../src/cli/replay/log-target.ts';
import { readLog } from '../../src/cli/replay/read-log.ts';
import type { LogLine } from '../../src/base/model/log-line.ts';
import { formats, needlesOfAll } from '../../src/read/parsing/formats.ts';
import { knownTexts, spellingsOf } from '../../src/read/parsing/known-texts.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { observe } from '../../src/count/pipeline/pipeline.ts';
import { createClock } from '../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../src/read/sources/envelopes/read-envelope.ts';
import { openInput } from '../../src/read/sources/framing/input.ts';
import type { LineOrigin } from '../../src/read/sources/source.ts';
import { createFollowFile } from '../../src/read/sources/tail/follow-file.ts';
import { lines as corpus } from '../corpus/lines.ts';
import { forAllAsync } from '../for-all.ts';
import { fakeTime } from '../read/sources/fake-time.ts';
import { openAtOnce } from '../read/sources/tail/at-once.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { documents, objects, prefixes, type Wrapping } from './wrapping.ts';

/** Wrapping changes nothing: every way to keep a line gives what the bare line gives, in each reader. */

const latest = Date.UTC(2026, 10, 21, 20);
/** When the collector took a line: later than it was written. */
const taken = Date.UTC(2026, 10, 21, 11);
const newPath = temporaryFolder();
let files = 0;
const table = createPrefixTable();

const packet = (prefix: string): string =>
  `${prefix}IN=cali1 OUT=cali2 MAC=ee:ee SRC=10.65.1.4 DST=10.65.2.9 LEN=60 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=8443 SYN URGP=0`;
const heads = ['Nov 21 10:15:03 node-b kernel: ', '2026-11-21T10:15:03.25+01:00 node-b kernel: [  132.500000] '];

/** A line of each format that the kernel does not write, as its own file has it. */
const ofLoggers = formats.flatMap(({ name, writers, parse }) => {
  if (
    writers.includes('kernel') ||
    ['calico-bpf', 'calico-flow', 'kernel-drops', 'journald', 'kube-network-policies'].includes(name)
  )
    return [];
  const found = corpus.find(({ text }) => !text.includes('\n') && ['packet'].includes(parse(text, table)?.kind ?? ''));
  return found === undefined ? [] : [{ line: found.text, isStamped: false }];
});
const ofKernel = heads.flatMap((head) =>
  ['calico-drop: ', 'calico-packet: ', '[UFW BLOCK] ', ''].map((prefix) => ({
    line: head + packet(prefix),
    isStamped: true,
  })),
);
const bare = ['calico-drop: ', '[UFW BLOCK] '].map((prefix) => ({ line: packet(prefix), isStamped: false }));

interface Reading {
  observation: unknown;
  time: number | undefined;
  host: string | undefined;
}

function readingOf(
  line: Pick<LogLine, 'text' | 'host' | 'program' | 'container'>,
  time: number | undefined,
  origin: LineOrigin,
): Reading {
  const observation = observe({ ...line, source: '' }, origin, table, true);
  return { observation: JSON.parse(JSON.stringify(observation ?? null)) as unknown, time, host: line.host };
}

function explained(text: string): Reading[] {
  const envelope = readEnvelope(Buffer.from(text).toString('latin1'), createClock({ latest }), knownTexts);
  return [envelope, ...envelope.more].map((each) =>
    readingOf(each, each.timeIsExact ? each.time : undefined, each.origin),
  );
}

async function replayed(text: string): Promise<Reading[]> {
  const path = newPath(`${files++}.log`);
  writeFileSync(path, text);
  const found: Reading[] = [];
  const take = (line: LogLine, origin: LineOrigin): void =>
    void found.push(readingOf(line, line.timeIsExact ? line.time : undefined, origin));
  const problems: string[] = [];
  await readLog(
    openInput(path, () => Readable.from([])),
    { latest },
    {
      pipeline: { take },
      totals: createReadTotals(),
      streams: { err: () => {}, terminal: undefined },
      options: { quiet: true, node: undefined },
      problem: (each) => problems.push(each),
    },
  );
  expect(problems).toStrictEqual([]);
  return found;
}

function followed(text: string): Reading[] {
  const path = newPath(`${files++}.log`);
  writeFileSync(path, '');
  const found: Reading[] = [];
  const timing = fakeTime(latest);
  const take = (line: LogLine, origin: LineOrigin): void =>
    void found.push(readingOf(line, line.timeIsExact ? line.time : undefined, origin));
  const source = createFollowFile({
    path,
    needles: spellingsOf(needlesOfAll),
    known: knownTexts,
    saved: undefined,
    from: 'start',
    listener: { take, lost: () => {}, notice: () => {} },
    timing,
    openContent: openAtOnce,
  });
  source.start();
  appendFileSync(path, text);
  timing.advance(5000);
  source.stop();
  return found;
}

const anyLine = fc.constantFrom(...ofKernel, ...ofLoggers, ...bare);

function expectSame(name: string, found: readonly Reading[], [wanted]: readonly Reading[], count: number): void {
  const { host, time, observation } = wanted as Reading;
  expect([name, found.map((each) => each.observation)]).toStrictEqual([
    name,
    Array.from({ length: count }, () => observation),
  ]);
  for (const each of found) {
    if (time !== undefined) expect([name, each.time]).toStrictEqual([name, time]);
    if (host !== undefined) expect([name, each.host]).toStrictEqual([name, host]);
  }
}

async function expectAlike(wrappings: readonly Wrapping[], line: string): Promise<void> {
  const name = `${wrappings.map((each) => each.name).join(' in ')}: ${line}`;
  let text = line;
  for (const { wrap } of wrappings) text = wrap([text], taken).replace(/\n$/, '');
  const wanted = await replayed(`${line}\n`);
  expect([line, wanted.length]).toStrictEqual([line, 1]);
  expectSame(`--explain ${name}`, explained(text.replace(/\r$/, '')), wanted, 1);
  expectSame(`replay ${name}`, await replayed(`${text}\n`), wanted, 1);
  expectSame(`file: ${name}`, followed(`${text}\n`), wanted, 1);
}

test.each([...prefixes, ...objects].map((each) => [each.name, each] as const))(
  'a line kept as %s is read as the bare line',
  async (_, wrapping) => {
    for (const { line, isStamped } of [...ofKernel, ...ofLoggers, ...bare])
      if (isStamped || wrapping.needsStamp !== true) await expectAlike([wrapping], line);
  },
);

test('a line is read as the bare line through wrappings around wrappings', async () => {
  const anyWrappings = fc.array(fc.constantFrom(...objects), { minLength: 2, maxLength: 3 });
  const anyPrefix = fc.option(fc.constantFrom(...prefixes.filter((each) => each.needsStamp !== true)), {
    nil: undefined,
  });
  await forAllAsync([anyLine, anyWrappings, anyPrefix], { numRuns: 150 }, async ({ line }, inner, outer) => {
    await expectAlike(outer === undefined ? inner : [...inner, outer], line);
  });
});

test.each(documents.map((each) => [each.name, each] as const))(
  'lines in a document, %s, are read as the bare lines',
  async (name, { wrap }) => {
    for (const { line } of [...ofKernel, ...ofLoggers, ...bare]) {
      const wanted = await replayed(`${line}\n`);
      for (const count of [1, 3, 700]) {
        const found = await replayed(
          wrap(
            Array.from({ length: count }, () => line),
            taken,
          ),
        );
        expectSame(`${name}, ${count}: ${line}`, found, wanted, count);
      }
    }
  },
);
