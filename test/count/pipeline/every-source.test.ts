import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readReplayOptions } from '../../../src/cli/options/replay-options.ts';
import { programNeedles, signOf } from '../../../src/explain/incidents/catalogue/catalogue.ts';
import type { LogLine, Millis } from '../../../src/base/model/log-line.ts';
import { needlesOfAll, parse } from '../../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../../src/read/parsing/netfilter/prefixes.ts';
import { parseProgramRecord } from '../../../src/read/parsing/components/program-record.ts';
import { createReadTotals } from '../../../src/cli/replay/log-target.ts';
import { readLog } from '../../../src/cli/replay/read-log.ts';
import { createContainerLogs } from '../../../src/read/sources/kubelet/container-logs.ts';
import { createRotatedLog } from '../../../src/read/sources/tail/rotated-log.ts';
import { createFollowFile, createFollowProgram } from '../../../src/read/sources/tail/follow-file.ts';
import { openInput } from '../../../src/read/sources/framing/input.ts';
import { createJournal } from '../../../src/read/sources/journald/journal.ts';
import type { Source, SourceListener, Timing } from '../../../src/read/sources/source.ts';
import { lines } from '../../explain/incidents/catalogue/lines.ts';
import { fakeJournalctl, printed, printedAsJson } from '../../read/sources/fake-journalctl.ts';
import { fakeTime } from '../../read/sources/fake-time.ts';
import { openAtOnce } from '../../read/sources/tail/at-once.ts';
import { listening } from '../../read/sources/heard.ts';
import { temporaryFolder } from '../../read/sources/temporary-folder.ts';
import { parsed } from '../../cli/parsed.ts';

/**
 * A record has the same meaning whatever source it comes from. Each source has the same needles as in the agent and in
 * replay.
 */

const present: Millis = Date.UTC(2026, 10, 21, 12);
const newPath = temporaryFolder();
let files = 0;

/** A program's text, and the name that syslog gives the program. */
interface Written {
  text: string;
  program: string;
}

interface Common {
  saved: undefined;
  listener: SourceListener;
  timing: Timing;
}

type LoadedConfig = (written: Written) => readonly LogLine[] | Promise<readonly LogLine[]>;

/** Lets a source read lines that are written after its start. */
function live(create: (common: Common) => Source, write: () => void): readonly LogLine[] {
  const { heard, listener } = listening();
  const timing = fakeTime(present);
  const source = create({ saved: undefined, listener, timing });
  source.start();
  timing.advance(1000);
  write();
  timing.advance(10_000);
  source.stop();
  return heard.lines;
}

const each = (text: string, toLine: (line: string) => string): string =>
  text
    .split('\n')
    .map((line) => `${toLine(line)}\n`)
    .join('');

function container(toLine: (line: string) => string): LoadedConfig {
  return ({ text }) => {
    const root = newPath(`pods-${files++}`);
    const log = `${root}/kube-system_kube-proxy-x_1/kube-proxy`;
    mkdirSync(root);
    return live(
      (common) =>
        createContainerLogs({
          ...common,
          root,
          createLog: (options) => createRotatedLog({ ...options, openContent: openAtOnce }),
        }),
      () => {
        mkdirSync(log, { recursive: true });
        writeFileSync(`${log}/0.log`, each(text, toLine));
      },
    );
  };
}

function followed(
  toText: (written: Written) => string,
  create: (common: Common, path: string) => Source,
): LoadedConfig {
  return (written) => {
    const path = newPath(`${files++}.log`);
    writeFileSync(path, '');
    return live(
      (common) => create(common, path),
      () => appendFileSync(path, toText(written)),
    );
  };
}

const programFile = (toLine: (line: string, program: string) => string): LoadedConfig => {
  return (written) =>
    followed(
      ({ text, program }) => each(text, (line) => toLine(line, program)),
      (common, path) =>
        createFollowProgram({
          ...common,
          path,
          program: written.program,
          needles: programNeedles,
          from: 'end',
          openContent: openAtOnce,
        }),
    )(written);
};

function journal(fieldsOf: (program: string) => Record<string, string>): LoadedConfig {
  return ({ text, program }) => {
    const { spawn, started } = fakeJournalctl();
    const units = { names: [`${program}.service`], needles: programNeedles };
    return live(
      (common) => createJournal({ ...common, since: 0, needles: needlesOfAll, units, spawn }),
      () => {
        const records = text.split('\n').map((message, i) => ({ number: i + 1, message, fields: fieldsOf(program) }));
        started[0]?.print(records.map((record) => printed(record)).join(''));
      },
    );
  };
}

/** Made once, because this takes longer than reading a record. */
const options = readReplayOptions(parsed('replay', '--quiet', 'LOG'));

function replayed(toText: (written: Written) => string): LoadedConfig {
  return async (written) => {
    const path = newPath(`${files++}.log`);
    writeFileSync(path, toText(written));
    const taken: LogLine[] = [];
    const pipeline = { take: (line: LogLine) => void taken.push(line), resume: () => {}, lost: () => {} };
    const streams = { stdin: Readable.from([]), out: () => {}, err: () => {} };
    const target = { pipeline, totals: createReadTotals(), streams, options, problem: () => {} };
    await readLog(
      openInput(path, () => streams.stdin),
      { latest: present },
      target,
    );
    return taken;
  };
}

const ofUnit = (program: string) => ({
  _TRANSPORT: 'stdout',
  SYSLOG_FACILITY: '3',
  SYSLOG_IDENTIFIER: program,
  _SYSTEMD_UNIT: `${program}.service`,
});
const cri = (line: string): string => `2026-11-21T11:59:03.250000000Z stderr F ${line}`;
const syslog = (line: string, program: string): string => `Nov 21 11:59:03 node-a ${program}[77]: ${line}`;
/** rsyslog writes a record of several lines as one line. */
const escaped = ({ text, program }: Written): string =>
  `${syslog(text.replaceAll('\n', '#012').replaceAll('\t', '#011'), program)}\n`;
const savedJournal = ({ text, program }: Written): string =>
  printedAsJson({ number: 1, message: text, fields: ofUnit(program) });

const ofPrograms: readonly (readonly [string, LoadedConfig])[] = [
  ['container, CRI', container(cri)],
  [
    'container, docker',
    container((log) => JSON.stringify({ log: `${log}\n`, stream: 'stderr', time: '2026-11-21T11:59:03.25Z' })),
  ],
  ['file that a program writes itself', programFile((line) => line)],
  ['file that a syslog writes for it', programFile(syslog)],
  ['unit in the journal', journal(ofUnit)],
  ['replay of a copy of the log of a container', replayed(({ text }) => each(text, cri))],
  ['replay of what kubectl logs printed', replayed(({ text }) => `${text}\n`)],
  ['replay of a syslog', replayed(escaped)],
  ['replay of a journal', replayed(savedJournal)],
];

const withSign = lines.flatMap(({ name, text, sign }) => {
  if (sign === undefined) return [];
  // Some texts begin with the name that syslog gave the program.
  const [tag = '', named] = /^([\w-]+)\[\d+\]: /.exec(text) ?? [];
  const program = named ?? (parseProgramRecord(text)?.program === 'kube-proxy' ? 'kube-proxy' : 'calico-node');
  return [{ name, written: { text: text.slice(tag.length), program } }];
});

test.each(ofPrograms)('all records of incidents: %s', async (_, read) => {
  const missed: string[] = [];
  for (const { name, written } of withSign) {
    const expected = signsBy([{ text: written.text, program: undefined }]);
    if (expected === '') throw new Error(`${name} has no sign`);
    const found = signsBy(await read(written));
    if (found !== expected) missed.push(`${name}: ${found}`);
  }
  expect(missed).toEqual([]);
  expect(withSign.length).toBeGreaterThanOrEqual(133);
});

/** Each sign once, reduced to what makes an incident: two separate lines may have the same sign. */
function signsBy(handed: readonly Pick<LogLine, 'text' | 'program'>[]): string {
  const signs = handed.flatMap(({ text, program }) => {
    const record = parseProgramRecord(text, program);
    const sign = record && signOf(record);
    if (sign === undefined) return [];
    const about = sign.kind === 'failure' ? [sign.code, sign.subject] : [sign.retry];
    return [[sign.kind, sign.failing, ...about].join(' ')];
  });
  return [...new Set(signs)].join(', ');
}

const tables = [
  ['nf_conntrack: nf_conntrack: table full, dropping packet', 'KN401'],
  ['nf_conntrack: table full in netns 4026532317, dropping packet', 'KN401'],
  ['neighbour: arp_cache: neighbor table overflow!', 'KN402'],
  ['IPv6: Neighbour table overflow', 'KN402'],
] as const;

const kernelLine = ({ text }: Written): string => `Nov 21 11:59:03 node-a kernel: [ 3161.662745] ${text}\n`;
const ofKernel: readonly (readonly [string, LoadedConfig])[] = [
  [
    "file with the kernel's lines",
    followed(kernelLine, (common, path) =>
      createFollowFile({ ...common, path, needles: needlesOfAll, from: 'end', openContent: openAtOnce }),
    ),
  ],
  ['journal', journal(() => ({}))],
  ['replay of kern.log', replayed(kernelLine)],
  ['replay of /dev/kmsg', replayed(({ text }) => `4,1234,3161662745,-;${text}\n`)],
];

test.each(ofKernel)('all lines of a table that is full: %s', async (_, read) => {
  for (const [text, code] of tables) {
    const handed = await read({ text, program: 'kernel' });
    const signs = handed.map((line) => {
      const observation = parse(line.text, createPrefixTable());
      return observation?.kind === 'conntrack-full' || observation?.kind === 'neighbour-overflow'
        ? signOf(observation)
        : undefined;
    });
    expect(signs).toMatchObject([{ code }]);
  }
});
