import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { readState } from '../../src/state/old-state-file.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';
import { writeOldState } from './old-state.ts';

const path = temporaryFolder();
const state = { id: 'an id', text: 'gemäß\n"…"', list: [1, 2.5, null] };

let files = 0;
const fresh = (): string => path(`${++files}.json`);

function written(content: unknown = state): string {
  const file = fresh();
  writeOldState(file, content);
  return file;
}

describe('a state file of an older version', () => {
  test('gives back what was written, and when', () => {
    expect(readState(written())).toEqual({ kind: 'state', state, saved: expect.any(Number) });
  });

  test('that is not there is none, nor is one in a folder that is not there', () => {
    expect(readState(fresh())).toEqual({ kind: 'none' });
    expect(readState(path('nowhere', 'at', 'all'))).toEqual({ kind: 'none' });
  });

  test('may be large', () => {
    const large = { text: 'ä€'.repeat(1_000_000) };
    expect(readState(written(large))).toMatchObject({ kind: 'state', state: large });
  });
});

/** Reads each of these contents in turn. */
function expectUnusable(contents: (bytes: Buffer) => Iterable<Buffer>): void {
  const file = written();
  for (const content of contents(readFileSync(file))) {
    writeFileSync(file, content);
    expect(readState(file)).toEqual({ kind: 'unusable', reason: expect.stringMatching(/^it (is|has) /) });
    expect(readFileSync(file).equals(content)).toBe(true);
  }
}

describe('a damaged state file of an older version', () => {
  test('is found wherever it was cut off', () => {
    expectUnusable((bytes) => bytes.keys().map((length) => bytes.subarray(0, length)));
  });

  test.each([0x01, 0x20, 0x80])('is found whichever byte was changed (by %i)', (difference) => {
    expectUnusable((bytes) => bytes.entries().map(([index, byte]) => bytes.with(index, byte ^ difference) as Buffer));
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['is empty', () => Buffer.of()],
    ['has more at its end', (bytes) => Buffer.concat([bytes, Buffer.from('\n')])],
    ['has more at its beginning', (bytes) => Buffer.concat([Buffer.from('\uFEFF'), bytes])],
    ['is of another program', () => Buffer.from('{"format":"yaml"}\n{}')],
    ['is JSON, and no object', () => Buffer.from('null\n{}')],
    ['is zeros, as after a power cut', (bytes) => Buffer.alloc(bytes.length)],
    ['is its body alone', (bytes) => bytes.subarray(bytes.indexOf('\n') + 1)],
    ['is binary', () => Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0xff])],
  ])('is found when it %s', (_, damage) => {
    expectUnusable((bytes) => [damage(bytes)]);
  });
});

test.each([0, 3, 5, '1', null, undefined])(
  'a state file of version %j is not used, and both versions are named',
  (version) => {
    const file = written();
    const [header = '', body] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, `${JSON.stringify({ ...JSON.parse(header), version })}\n${body}`);
    expect(readState(file)).toEqual({
      kind: 'unusable',
      reason: expect.stringContaining(`version ${String(version)},`),
    });
  },
);

test('what version 1 has kept is taken over under the names of today', () => {
  const file = written();
  const body =
    '{"series":[{"finding":{"story":{"kind":"incident","culprit":"kube-system/kube-proxy-x","facts":{"talkers":[]}}}}],' +
    '"incidents":{"table":[{"incident":{"untold":2,"endUntold":false}}],"told":{"KN102":{"pointed":{"uid":{"at":1}}}}}}';
  const sha256 = createHash('sha256').update(body).digest('hex');
  writeFileSync(file, `${JSON.stringify({ format: 'kube-netfilter-tailer state', version: 1, sha256 })}\n${body}`);
  const details = { kind: 'incident', failingPod: 'kube-system/kube-proxy-x', facts: { topSources: [] } };
  expect(readState(file)).toMatchObject({
    kind: 'state',
    state: {
      series: [{ finding: { details } }],
      incidents: {
        table: [{ incident: { unpublished: 2, endUnpublished: false } }],
        reported: { KN102: { notifiedPods: { uid: { at: 1 } } } },
      },
    },
  });
});

describe('in the place of the state file of an older version', () => {
  test('a folder cannot be read', () => {
    const file = fresh();
    mkdirSync(file);
    expect(readState(file)).toMatchObject({ kind: 'unreadable' });
  });

  test('a pipe is not waited at', () => {
    const file = fresh();
    execFileSync('mkfifo', [file]);
    expect(readState(file)).toMatchObject({ kind: 'unusable' });
  });

  test('a huge file is not read into memory', () => {
    const file = fresh();
    writeFileSync(file, '');
    truncateSync(file, 3 * 1024 ** 3);
    expect(readState(file)).toMatchObject({ kind: 'unusable' });
  });

  test('a link to itself cannot be read', () => {
    const file = fresh();
    symlinkSync(file, file);
    expect(readState(file)).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining('ELOOP') });
  });

  test('there is nothing below a file', () => {
    expect(readState(`${written()}/state.json`)).toMatchObject({ kind: 'unreadable' });
  });
});
