import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readState, setAside, writeState } from '../../src/state/state-file.ts';
import { nine } from '../builders.ts';
import { temporaryFolder } from '../sources/temporary-folder.ts';

const path = temporaryFolder();
const now = new Date(nine + 1234);
const state = { id: 'an id', text: 'gemäß\n"…"', list: [1, 2.5, null] };
const text = JSON.stringify(state);

let files = 0;
/** A file in a folder of its own, which is not there yet. */
const fresh = (): string => path(`${++files}`, 'state.json');

/** The same, with that state in it. */
async function written(body = text): Promise<string> {
  const file = fresh();
  await writeState(file, body);
  return file;
}

/** Reads a state file, and sets aside what cannot be used. */
function load(file: string): { kind: string; state?: unknown; aside?: string | undefined } {
  const found = readState(file);
  if (found.kind === 'state') return { kind: 'restored', state: found.state };
  return found.kind === 'unusable' ? { ...found, aside: setAside(file, now) } : found;
}

const beside = (file: string): string[] => readdirSync(path(`${files}`)).filter((name) => name !== basename(file));

describe('a state file', () => {
  test('gives back what was written', async () => {
    expect(load(await written())).toEqual({ kind: 'restored', state });
  });

  test('holds a newer state in place of an older, longer one, and leaves nothing beside it', async () => {
    const file = await written(JSON.stringify({ long: 'x'.repeat(10_000) }));
    await writeState(file, text);
    expect(load(file)).toEqual({ kind: 'restored', state });
    expect(beside(file)).toEqual([]);
  });

  test('is a new one each time: what a run before may still write goes elsewhere', async () => {
    const file = await written();
    writeFileSync(`${file}.next`, 'half');
    const late = openSync(`${file}.next`, 'a');
    await writeState(file, text);
    writeSync(late, 'late');
    closeSync(late);
    expect(load(file)).toEqual({ kind: 'restored', state });
    expect(beside(file)).toEqual([]);
  });

  test('that is not there is none, nor is one in a folder that is not there', () => {
    expect(load(fresh())).toEqual({ kind: 'none' });
    expect(load(path('nowhere', 'at', 'all'))).toEqual({ kind: 'none' });
  });

  test('is readable by its owner only', async () => {
    expect(statSync(await written()).mode & 0o077).toBe(0);
  });

  test('may be large', async () => {
    const large = { text: 'ä€'.repeat(1_000_000) };
    expect(load(await written(JSON.stringify(large)))).toEqual({ kind: 'restored', state: large });
  });
});

/** Looks at each of these contents in turn. */
async function expectUnusable(contents: (bytes: Buffer) => Iterable<Buffer>): Promise<void> {
  const file = await written();
  for (const content of contents(readFileSync(file))) {
    writeFileSync(file, content);
    expect(load(file)).toEqual({
      kind: 'unusable',
      reason: expect.stringMatching(/^it (is|has) /),
      aside: expect.stringContaining(file),
    });
    expect(load(file)).toEqual({ kind: 'none' });
  }
}

describe('a damaged state file', () => {
  test('is found wherever it was cut off', async () => {
    await expectUnusable((bytes) => bytes.keys().map((length) => bytes.subarray(0, length)));
  });

  test.each([0x01, 0x20, 0x80])('is found whichever byte was changed (by %i)', async (difference) => {
    await expectUnusable((bytes) =>
      bytes.entries().map(([index, byte]) => bytes.with(index, byte ^ difference) as Buffer),
    );
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['is empty', () => Buffer.of()],
    ['has more at its end', (bytes) => Buffer.concat([bytes, Buffer.from('\n')])],
    ['has more at its beginning', (bytes) => Buffer.concat([Buffer.from('\uFEFF'), bytes])],
    ['is of another program', () => Buffer.from('{"format":"yaml"}\n{}')],
    ['is JSON, but no object', () => Buffer.from('null\n{}')],
    ['is zeros, as after a power cut', (bytes) => Buffer.alloc(bytes.length)],
    ['is its body alone', (bytes) => bytes.subarray(bytes.indexOf('\n') + 1)],
    ['is binary', () => Buffer.from([0xff, 0xfe, 0x00, 0x0a, 0xff])],
  ])('is found when it %s', async (_, damage) => {
    await expectUnusable((bytes) => [damage(bytes)]);
  });

  test('is set aside as it is, under a name that says when', async () => {
    const file = await written();
    writeFileSync(file, 'damaged');
    const aside = `${file}.unusable-2026-11-21T090001Z`;
    expect(load(file)).toMatchObject({ kind: 'unusable', aside });
    expect(readFileSync(aside, 'utf8')).toBe('damaged');
  });

  test('that cannot be set aside stays where it is', async () => {
    const file = await written();
    writeFileSync(file, 'damaged');
    mkdirSync(`${file}.unusable-2026-11-21T090001Z`);
    expect(load(file)).toMatchObject({ kind: 'unusable', aside: undefined });
    expect(readFileSync(file, 'utf8')).toBe('damaged');
    expect(setAside(file, now)).toBeUndefined();
    await writeState(file, text);
    expect(load(file)).toEqual({ kind: 'restored', state });
  });
});

test.each([0, 3, '1', null, undefined])(
  'a state file of version %j is set aside, and both versions are named',
  async (version) => {
    const file = await written();
    const [header = '', body] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, `${JSON.stringify({ ...JSON.parse(header), version })}\n${body}`);
    expect(load(file)).toEqual({
      kind: 'unusable',
      reason: `it has version ${String(version)}, this program writes 4`,
      aside: expect.stringContaining(file),
    });
  },
);

test.each([1, 2])('what version %i has kept is taken over under the names of today', async (version) => {
  const file = await written();
  const finding = '{"story":{"kind":"incident","culprit":"kube-system/kube-proxy-x","facts":{"talkers":[]}}}';
  const table = '[{"incident":{"untold":2,"endUntold":false}}]';
  const reported = '{"KN102":{"pointed":{"uid":{"at":1}}}}';
  const syncs = '{"felix":{"tells":true,"told":{}}}';
  const incidents = `{"table":${table},"told":${reported},"syncs":${syncs}}`;
  const body = `{"series":[{"finding":${finding}}],"incidents":${incidents}}`;
  const sha256 = createHash('sha256').update(body).digest('hex');
  writeFileSync(file, `${JSON.stringify({ format: 'kube-netfilter-tailer state', version, sha256 })}\n${body}`);
  const details = { kind: 'incident', failingPod: 'kube-system/kube-proxy-x', facts: { topSources: [] } };
  expect(load(file)).toEqual({
    kind: 'restored',
    state: {
      series: [{ finding: { details } }],
      incidents: {
        table: [{ incident: { unpublished: 2, endUnpublished: false } }],
        reported: { KN102: { notifiedPods: { uid: { at: 1 } } } },
        syncs: { felix: { reportsFailures: true, reported: {} } },
      },
    },
  });
});

describe('in the place of the state file', () => {
  test('a folder cannot be read, and stays where it is', async () => {
    const file = fresh();
    mkdirSync(file, { recursive: true });
    writeFileSync(`${file}/precious`, '');
    expect(load(file)).toMatchObject({ kind: 'unreadable', reason: 'it is a folder' });
    await expect(writeState(file, text)).rejects.toThrow('EISDIR');
    expect(readdirSync(file)).toEqual(['precious']);
  });

  test('a pipe is not waited at, and is set aside', () => {
    const file = fresh();
    mkdirSync(dirname(file));
    execFileSync('mkfifo', [file]);
    expect(load(file)).toMatchObject({ kind: 'unusable', reason: 'it is no regular file' });
    expect(load(file)).toEqual({ kind: 'none' });
  });

  test('a huge file is not read into memory, and is set aside', () => {
    const file = fresh();
    mkdirSync(dirname(file));
    writeFileSync(file, '');
    truncateSync(file, 3 * 1024 ** 3);
    expect(load(file)).toMatchObject({ kind: 'unusable', reason: 'it is larger than 64 MiB' });
    expect(load(file)).toEqual({ kind: 'none' });
  });

  test('a look leaves what it finds where it is', () => {
    const file = fresh();
    mkdirSync(dirname(file));
    writeFileSync(file, 'nonsense');
    expect(readState(file)).toEqual({ kind: 'unusable', reason: 'it is no state file of this program' });
    expect(readFileSync(file, 'utf8')).toBe('nonsense');
  });

  test('a link to itself cannot be read, but be replaced', async () => {
    const other = await written();
    const file = fresh();
    mkdirSync(path(`${files}`));
    symlinkSync(file, file);
    expect(load(file)).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining('ELOOP') });
    await writeState(file, text);
    expect(load(file)).toEqual(load(other));
  });

  test('there can be nothing below a file', async () => {
    const file = `${await written()}/state.json`;
    expect(load(file)).toMatchObject({ kind: 'unreadable', reason: 'a part of the path is not a folder' });
    await expect(writeState(file, text)).rejects.toThrow(/EEXIST|ENOTDIR/);
  });
});

describe('while it is written', () => {
  test('whoever looks sees all of the old or all of the new', async () => {
    const states = Array.from({ length: 12 }, (_, number) => JSON.stringify({ number, text: 'x'.repeat(200_000) }));
    const file = await written(states[0]);
    const end = new AbortController();
    const seen = new Set<unknown>();
    const looking = (async () => {
      while (!end.signal.aborted) {
        const found = load(file);
        expect(found.kind).toBe('restored');
        seen.add((found as { state: { number: number } }).state.number);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (const body of states) await writeState(file, body);
    end.abort();
    await looking;
    expect(seen.size).toBeGreaterThan(2);
    expect(load(file)).toMatchObject({ state: { number: 11 } });
  });

  test('a write that fails leaves the old', async () => {
    const file = await written();
    mkdirSync(`${file}.next`);
    await expect(writeState(file, '{}')).rejects.toThrow('EISDIR');
    expect(load(file)).toEqual({ kind: 'restored', state });
  });

  test('what a write that was cut off has left is overwritten', async () => {
    const file = await written(JSON.stringify({ long: 'x'.repeat(10_000) }));
    renameSync(file, `${file}.next`);
    expect(load(file)).toEqual({ kind: 'none' });
    await writeState(file, text);
    expect(load(file)).toEqual({ kind: 'restored', state });
    expect(beside(file)).toEqual([]);
  });
});
