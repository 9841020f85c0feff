import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { type LoggedPacket, lookAtKernelSource } from '../../src/cli/doctor/kernel-log.ts';
import { createReadTotals } from '../../src/cli/replay/log-target.ts';
import { readLog } from '../../src/cli/replay/read-log.ts';
import type { LogLine } from '../../src/base/model/log-line.ts';
import { needlesOfAll } from '../../src/read/parsing/formats.ts';
import { knownTexts, spellingsOf } from '../../src/read/parsing/known-texts.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { observe } from '../../src/count/pipeline/pipeline.ts';
import { createClock } from '../../src/read/sources/envelopes/clock.ts';
import { openInput } from '../../src/read/sources/framing/input.ts';
import { readText } from '../../src/read/sources/records/text-records.ts';
import { createContainerLogs } from '../../src/read/sources/kubelet/container-logs.ts';
import type { LineOrigin, Source, SourceListener } from '../../src/read/sources/source.ts';
import { createFollowFile } from '../../src/read/sources/tail/follow-file.ts';
import { createRotatedLog } from '../../src/read/sources/tail/rotated-log.ts';
import { fakeMachine } from '../cli/doctor/fake.ts';
import { type FakeTime, fakeTime } from '../read/sources/fake-time.ts';
import { openAtOnce } from '../read/sources/tail/at-once.ts';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';

const latest = Date.UTC(2026, 10, 21, 20);
const table = createPrefixTable();

/** A reader's result for a line. */
export interface Reading {
  text: string;
  observation: unknown;
  time: number | undefined;
  host: string | undefined;
}

/** A container's log, by its path below /var/log/pods. */
export interface ContainerFile {
  path: string;
  text: string;
}

/** All that reads lines: `replay --explain`, `replay`, `doctor`, and the agent's sources `file:` and `containers`. */
export function createLineReaders() {
  const newPath = temporaryFolder();
  let files = 0;

  return {
    explained(text: string): Reading[] {
      const records = readText(Buffer.from(text).toString('latin1'), createClock({ latest }), knownTexts);
      return records.map(({ envelope }) =>
        readingOf(envelope, envelope.timeIsExact ? envelope.time : undefined, envelope.origin, true),
      );
    },
    replayed(text: string): Promise<Reading[]> {
      const path = newPath(`${files++}.log`);
      writeFileSync(path, text);
      return replayedFrom(path);
    },
    followed(text: string): Reading[] {
      const path = newPath(`${files++}.log`);
      writeFileSync(path, '');
      return readBy(
        (listener, timing) =>
          createFollowFile({
            path,
            needles: spellingsOf(needlesOfAll),
            known: knownTexts,
            saved: undefined,
            from: 'start',
            listener,
            timing,
            openContent: openAtOnce,
          }),
        () => appendFileSync(path, text),
        true,
      );
    },
    /** What `doctor` finds in a syslog daemon's file. */
    async checked(text: string): Promise<readonly Pick<LoggedPacket, 'prefix' | 'verdict'>[]> {
      const path = newPath(`${files++}.log`);
      writeFileSync(path, text);
      const machine = fakeMachine({ now: () => latest });
      const { log } = await lookAtKernelSource({ kind: 'file', path }, { timeZone: 'UTC', units: [] }, table, machine);
      if (log === undefined || 'reason' in log) throw new Error(`doctor cannot read ${path}`);
      return log.packets.map(({ prefix, verdict }) => ({ prefix, verdict }));
    },
    /** Reads it with `replay` as a file, and with the agent. */
    async contained(file: ContainerFile): Promise<{ replay: Reading[]; agent: Reading[] }> {
      const root = newPath(`pods-${files++}`);
      const path = `${root}/${file.path}`;
      mkdirSync(root);
      const everyContainer = { namespaces: ['*'], pods: ['*'], containers: ['*'] };
      const agent = readBy(
        (listener, timing) =>
          createContainerLogs({
            root,
            rules: [everyContainer],
            saved: undefined,
            listener,
            timing,
            createLog: (options) => createRotatedLog({ ...options, openContent: openAtOnce }),
          }),
        () => {
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, file.text);
        },
        false,
      );
      return { replay: await replayedFrom(path), agent };
    },
  };
}

async function replayedFrom(path: string): Promise<Reading[]> {
  const { found, take } = readings(true);
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

/** `write`: the lines that are logged after the start of the source. */
function readBy(
  open: (listener: SourceListener, timing: FakeTime) => Source,
  write: () => void,
  programsAnywhere: boolean,
): Reading[] {
  const { found, take } = readings(programsAnywhere);
  const timing = fakeTime(latest);
  const source = open({ take, lost: () => {}, notice: () => {} }, timing);
  source.start();
  write();
  timing.advance(3000);
  source.stop();
  return found;
}

function readings(programsAnywhere: boolean): { found: Reading[]; take: (line: LogLine, origin: LineOrigin) => void } {
  const found: Reading[] = [];
  return {
    found,
    take: (line, origin) =>
      void found.push(readingOf(line, line.timeIsExact ? line.time : undefined, origin, programsAnywhere)),
  };
}

export function readingOf(
  { source = '', ...line }: Pick<LogLine, 'text' | 'host' | 'program' | 'container'> & { source?: string },
  time: number | undefined,
  origin: LineOrigin,
  programsAnywhere: boolean,
): Reading {
  const observation = observe({ ...line, source }, origin, table, programsAnywhere);
  return {
    text: line.text,
    observation: JSON.parse(JSON.stringify(observation ?? null)) as unknown,
    time,
    host: line.host,
  };
}
