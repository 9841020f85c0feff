import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { createContainerLogs } from '../../../../src/read/sources/kubelet/container-logs.ts';
import { containerOfPath } from '../../../../src/base/log-formats/container-log.ts';
import { type Schedule, schedule } from '../../../../src/base/platform/timer.ts';
import type { Position, Source } from '../../../../src/read/sources/source.ts';
import { listening } from '../heard.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const path = temporaryFolder();
const { heard, listener } = listening();
let source: Source | undefined;
afterEach(() => source?.stop());

/** Waiting for ten seconds of silence would be long for a test. */
const tenTimesAsFast: Schedule = (task, delay) => schedule(task, Math.min(delay / 10, 50));

/**
 * Longer than this test may take, so that a record is over because the test says so, and not because the machine was
 * busy.
 */
const timeout = 600_000;
let ahead = 0;
const now = (): number => Date.now() + ahead;
const timing = { now, wall: Date.now, schedule: tenTimesAsFast };

function start(saved: Position | undefined): Source {
  source = createContainerLogs({ root: path(), saved, listener, timeout, timing });
  source.start();
  return source;
}

let written = 0;
/** Lines by the name of the log; the lines of two logs come in any order. */
const expected: Record<string, string[]> = { '0.log': [], '1.log': [] };
/**
 * Writes a klog record of three lines, with lines of the other stream in between. The caller gets a function that
 * writes the last line.
 */
function write(file: string): () => void {
  const number = ++written;
  const header = `E1121 12:00:00.${String(number).padStart(6, '0')}       1 proxier.go:1564] "Failed ä" err=<`;
  const other = `{"number":${number}}`;
  const line = (stream: string, text: string, tag = 'F'): string => {
    const stamp = new Date(Date.UTC(2026, 10, 21) + number).toISOString();
    return `${stamp} ${stream} ${tag} ${text}\n`;
  };
  expected[basename(file)]?.push(`${header}\n\texit status 2\n > n="${number}"`, other);
  appendFileSync(
    file,
    line('stderr', header.slice(0, 20), 'P') +
      line('stdout', other) +
      line('stderr', header.slice(20)) +
      line('stderr', '\texit status 2'),
  );
  return () => appendFileSync(file, line('stderr', ` > n="${number}"`));
}

const isRecord = (text: string): boolean => text.includes('err=');
const inTime = { timeout: 60_000, interval: 20 };

/** The last line of a record ends it, and is the last of its file; the other stream's record may still continue. */
async function settled(): Promise<void> {
  await vi.waitFor(() => expect(heard.lines.filter(({ text }) => isRecord(text))).toHaveLength(written), inTime);
  ahead += timeout;
  await vi.waitFor(() => expect(heard.lines).toHaveLength(2 * written), inTime);
}

function textsOf(log: string): string[] {
  return heard.lines.filter((line) => basename(line.source) === log).map(({ text }) => text);
}

test('real logs are read, rotated and compressed, over restarts of the container and of the source', async () => {
  const folder = path('kube-system_kube-proxy-x_1/kube-proxy');
  mkdirSync(folder, { recursive: true });
  const [first, second] = [`${folder}/0.log`, `${folder}/1.log`];
  writeFileSync(first, '2026-11-21T00:00:00Z stderr F old\n');
  const before = start(undefined);
  await vi.waitFor(() => expect(before.state).toBe('reading'), inTime);

  for (let i = 0; i < 20; i++) write(first)();
  await settled();

  // A record continues in the next file, and the source is restarted in the middle of it.
  const finish = write(first);
  const rotated = `${first}.20261121-100000`;
  renameSync(first, rotated);
  writeFileSync(first, '');
  before.stop();
  const saved = JSON.parse(JSON.stringify(before.position)) as Position;
  const after = start(saved);
  finish();
  write(first)();
  await settled();

  writeFileSync(`${rotated}.gz`, gzipSync(readFileSync(rotated)));
  rmSync(rotated);
  write(first)();
  writeFileSync(second, '');
  for (let i = 0; i < 20; i++) write(second)();
  await settled();

  for (const [log, texts = []] of Object.entries(expected)) {
    expect(textsOf(log).toSorted()).toStrictEqual(texts.toSorted());
    expect(textsOf(log).filter(isRecord)).toStrictEqual(texts.filter(isRecord));
  }
  const last = heard.lines.findLast((each) => basename(each.source) === '1.log');
  expect(containerOfPath(last?.source ?? '')).toMatchObject({ container: 'kube-proxy', restarts: 1 });
  expect(heard.losses).toStrictEqual([]);

  rmSync(path('kube-system_kube-proxy-x_1'), { recursive: true });
  await vi.waitFor(() => expect(after.position).toStrictEqual({ logs: {} }), inTime);
});
