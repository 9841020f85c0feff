import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../read/sources/temporary-folder.ts';
import { replay } from './replaying.ts';
import { eventsIn, json, stamped, twoEvents, writerIn } from './scene.ts';

/** However a log is encoded and packed, its readable part is counted, and the rest has a clear message. */

const write = writerIn(temporaryFolder());
const line = stamped.trimEnd();
const other = 'Nov 21 10:00:00 node-a systemd[1]: Started session 1 of user ünal.';

const shapes: Record<string, string> = {
  lines: `${other}\n${line}\n${line}\n`,
  'lines without the last line break': `${other}\n${line}\n${line}`,
  'lines of JSON': `${[other, line, line].map((message) => JSON.stringify({ message })).join('\n')}\n`,
  'a key twice': `{"message":"old","message":${JSON.stringify(line)}}\n`.repeat(2),
  'a document': JSON.stringify(
    [other, line, line].map((message) => ({ message })),
    undefined,
    2,
  ),
  'a table': `time,note,message\n${[other, line, line].map((text) => `x,"two\nlines, ""quoted""","${text}"\n`).join('')}`,
  'several wrappers': `${line}\n${JSON.stringify({ log: `${line}\n` })}\n/var/log/kern.log:${other}\n`,
};

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le');
const encodings: Record<string, (text: string) => Buffer> = {
  'UTF-8': (text) => Buffer.from(text),
  'UTF-8 with a byte order mark': (text) => Buffer.from(`\uFEFF${text}`),
  'UTF-16': (text) => utf16(`\uFEFF${text}`),
  'UTF-16 without a byte order mark': utf16,
  'UTF-16 with the high byte first': (text) => utf16(`\uFEFF${text}`).swap16(),
  'UTF-16 with the high byte first, without a mark': (text) => utf16(text).swap16(),
  CRLF: (text) => Buffer.from(text.replaceAll('\n', '\r\n')),
  'NUL between lines': (text) => Buffer.from(text.replace('\n', '\n\0\n')),
};

const cases = Object.keys(shapes).flatMap((shape) =>
  Object.keys(encodings).map((encoding) => [shape, encoding] as const),
);
const expected = twoEvents('2026-11-21T10:15:04Z', 2);

test.each(cases.filter(([shape, encoding]) => encoding !== 'NUL between lines' || shape.startsWith('lines')))(
  '%s in %s are read, also from a pipe and compressed',
  async (shape, encoding) => {
    const bytes = encodings[encoding]?.(shapes[shape] ?? '') ?? Buffer.alloc(0);
    const plain = await replay([...json, write('kern.log', bytes)]);
    expect([plain.status, eventsIn(plain)]).toStrictEqual([0, expected]);
    const packed = await replay([...json, write('kern.log.gz', gzipSync(bytes))]);
    expect([packed.status, eventsIn(packed)]).toStrictEqual([0, expected]);
    const piped = await replay([...json, '-'], { stdin: [bytes.subarray(0, 50), bytes.subarray(50)] });
    expect([piped.status, eventsIn(piped)]).toStrictEqual([0, expected]);
  },
);

test.each(Object.keys(shapes))(
  'of a truncated compressed log, %s, the part before the end is counted',
  async (shape) => {
    const packed = gzipSync((shapes[shape] ?? '').repeat(shape === 'a document' || shape === 'a table' ? 1 : 2000), {
      level: 0,
    });
    const { status, err } = await replay([...json, write('cut.log.gz', packed.subarray(0, packed.length - 40))]);
    expect([status, err]).toStrictEqual([1, expect.stringMatching(/cut\.log\.gz: .*damaged or cut off/)]);
  },
);

test.each([
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0, 4]],
  ['bzip2', [0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26]],
  ['binary journal', [...Buffer.from('LPKSHHRH')]],
])('%s on standard input has the same message as in a file', async (name, bytes) => {
  const { status, err } = await replay([...json, '-'], { stdin: [Buffer.from([...bytes, 1, 2, 3])] });
  expect([status, err]).toStrictEqual([
    1,
    expect.stringMatching(new RegExp(`^kube-netfilter-tailer: -: is (?:a )?${name}`)),
  ]);
});
