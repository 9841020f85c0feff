import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createContainerLogs } from '../../src/read/sources/kubelet/container-logs.ts';
import { createRotatedLog } from '../../src/read/sources/tail/rotated-log.ts';
import { createFollowFile, createFollowProgram } from '../../src/read/sources/tail/follow-file.ts';
import { createJournal } from '../../src/read/sources/journald/journal.ts';
import { createKernelRing } from '../../src/read/sources/kmsg/kernel-ring.ts';
import type { Position, Source, SourceListener } from '../../src/read/sources/source.ts';
import { fakeJournalctl, type JournalRecord, outputFor } from '../read/sources/fake-journalctl.ts';
import { fakeRing } from '../read/sources/fake-ring.ts';
import { type FakeTime, fakeTime } from '../read/sources/fake-time.ts';
import { openAtOnce } from '../read/sources/tail/at-once.ts';

/** A log, and sources that read it. */
export interface Ground {
  time: FakeTime;
  /** Logs one line. The texts have no line breaks or control characters. */
  write: (text: string) => void;
  /** Creates a source that is not started yet. The first one begins where the log begins. */
  open: (saved: Position | undefined, listener: SourceListener) => Source;
  /** Lets everything happen that is due within the next seconds. */
  settle: () => void;
}

/** A new ground of each kind. Nothing exists at `path` yet. */
export const grounds: Record<string, (path: string) => Ground> = {
  file(path) {
    const time = newTime();
    writeFileSync(path, '');
    return {
      time,
      write: (text) => appendFileSync(path, `Nov 21 12:00:00 node-a kernel: ${text}\n`),
      open: (saved, listener) =>
        createFollowFile({ path, needles, saved, from: 'start', listener, timing: time, openContent: openAtOnce }),
      settle: () => time.advance(seconds),
    };
  },

  program(path) {
    const time = newTime();
    writeFileSync(path, '');
    let lines = 0;
    return {
      time,
      write(text) {
        const stamp = new Date(time.now() + lines++).toISOString().slice(11, 23);
        appendFileSync(path, `E1121 ${stamp}000       1 server.go:1] ${text}\n`);
      },
      open: (saved, listener) =>
        createFollowProgram({
          path,
          program: 'kube-proxy',
          needles,
          saved,
          from: 'start',
          listener,
          timing: time,
          openContent: openAtOnce,
        }),
      settle: () => time.advance(seconds),
    };
  },

  kernel() {
    const time = newTime();
    const ring = fakeRing(time.elapsed);
    return {
      time,
      write: (text) => void ring.log(text),
      open: (saved, listener) =>
        createKernelRing({
          saved,
          since: 0,
          listener,
          timing: time,
          monotonic: time.elapsed,
          bootId: () => 'this boot',
          device: ring,
        }),
      settle: () => time.advance(seconds),
    };
  },

  journal: () => journal((message) => ({ message, fields: {} })),

  /** Records of a unit, in a journal with others. */
  units: () => journal((text) => ({ message: `E1121 12:00:00.000000       1 server.go:1] ${text}`, fields: ofUnit })),

  containers(path) {
    const time = newTime();
    const log = `${path}/kube-system_kube-proxy-x7x2k_0c1d/kube-proxy/0.log`;
    mkdirSync(path);
    let lines = 0;
    return {
      time,
      write(text) {
        // Made late: if a container's folder exists at the first start, its log is read from the end.
        mkdirSync(dirname(log), { recursive: true });
        const stamp = new Date(time.now() + lines++).toISOString();
        appendFileSync(log, `${stamp} stderr F I1121 12:00:00.000000       1 server.go:1] ${text}\n`);
      },
      open: (saved, listener) =>
        createContainerLogs({
          root: path,
          saved,
          listener,
          timing: time,
          createLog: (options) => createRotatedLog({ ...options, openContent: openAtOnce }),
        }),
      settle: () => time.advance(seconds),
    };
  },
};

const ofUnit = { _TRANSPORT: 'stdout', SYSLOG_IDENTIFIER: 'k3s', _SYSTEMD_UNIT: 'k3s.service' };

function journal(recordOf: (text: string) => Required<Omit<JournalRecord, 'number'>>): Ground {
  const time = newTime();
  const records: JournalRecord[] = [];
  const { spawn, started } = fakeJournalctl();
  const printed = new Map<unknown, number>();
  const units = { names: ['k3s.service'], needles };
  return {
    time,
    write(text) {
      const { message, fields } = recordOf(text);
      const stamp = { __REALTIME_TIMESTAMP: String(time.now() * 1000) };
      records.push({ number: records.length + 1, message, fields: { ...stamp, ...fields } });
    },
    open: (saved, listener) => createJournal({ saved, since: 0, listener, needles, units, timing: time, spawn }),
    settle() {
      time.advance(seconds);
      const child = started.at(-1);
      if (child === undefined || child.killed) return;
      const output = outputFor(child.args, records);
      child.print(output.slice(printed.get(child) ?? 0));
      printed.set(child, output.length);
      time.advance(seconds);
    },
  };
}

const needles = ['IN='];
const seconds = 5000;

function newTime(): FakeTime {
  return fakeTime(Date.UTC(2026, 10, 21, 12));
}
