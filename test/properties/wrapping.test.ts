import { expect, test } from 'vitest';
import { formats } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { lines as corpus } from '../corpus/lines.ts';
import { createLineReaders, type Reading } from './line-readers.ts';
import { documents, objects, prefixes, type Wrapping } from './wrapping.ts';

/** Wrapping changes nothing: every way to keep a line gives the same as the bare line, in each reader. */

/** When the collector took a line: later than it was written. */
const taken = Date.UTC(2026, 10, 21, 11);
const readers = createLineReaders();
const table = createPrefixTable();

const packet = (prefix: string): string =>
  `${prefix}IN=cali1 OUT=cali2 MAC=ee:ee SRC=10.65.1.4 DST=10.65.2.9 LEN=60 TTL=63 ID=1 DF PROTO=TCP SPT=40112 DPT=8443 SYN URGP=0`;
const heads = ['Nov 21 10:15:03 node-b kernel: ', '2026-11-21T10:15:03.25+01:00 node-b kernel: [  132.500000] '];

/** A line of each format that the kernel does not write, as in the format's own file. */
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

const anyLines = [...ofKernel, ...ofLoggers, ...bare];

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
  const wanted = await readers.replayed(`${line}\n`);
  expect([line, wanted.length]).toStrictEqual([line, 1]);
  expectSame(`--explain ${name}`, readers.explained(text.replace(/\r$/, '')), wanted, 1);
  expectSame(`replay ${name}`, await readers.replayed(`${text}\n`), wanted, 1);
  expectSame(`file: ${name}`, readers.followed(`${text}\n`), wanted, 1);
}

test.each([...prefixes, ...objects].map((each) => [each.name, each] as const))(
  'a line stored as %s is read as the bare line',
  async (_, wrapping) => {
    for (const { line, isStamped } of [...ofKernel, ...ofLoggers, ...bare])
      if (isStamped || wrapping.needsStamp !== true) await expectAlike([wrapping], line);
  },
);

const outermost = [...objects, ...prefixes.filter((each) => each.needsStamp !== true)];

test.each(objects.map((each) => [each.name, each] as const))(
  "a line stored as %s, in another tool's own form, is read as the bare line",
  async (_, inner) => {
    for (const [i, outer] of outermost.entries()) {
      const { line } = anyLines[i % anyLines.length] ?? { line: '' };
      // This puts a comma after a line, which is then not JSON.
      const isJson = inner.name !== 'an element of a list' || outer.name !== 'JSON printed with blanks';
      if (isJson) await expectAlike([inner, outer], line);
    }
  },
);

test.each(documents.map((each) => [each.name, each] as const))(
  'lines in a document, %s, are read as the bare lines',
  async (name, { wrap }) => {
    for (const { line } of [...ofKernel, ...ofLoggers, ...bare]) {
      const wanted = await readers.replayed(`${line}\n`);
      // Texts of more than 256 KiB are skipped and counted.
      for (const count of [1, 3, name.startsWith('a log in') ? 70 : 700]) {
        const found = await readers.replayed(
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

test('a text with a closing character is read completely, even at the end of a file without a line break', async () => {
  const line = `${heads[0]}calico-drop: IN=a OUT=b SRC=10.65.1.4 DST=10.65.2.9 LEN=60 PROTO=TCP SPT=40112 DPT=8443`;
  const [wanted] = await readers.replayed(`${line}\n`);
  const [found] = await readers.replayed(JSON.stringify({ message: line }));
  expect(found?.observation).toEqual(wanted?.observation);
  const [cut] = await readers.replayed(line);
  expect(cut?.observation).not.toEqual(wanted?.observation);
});

test('a record ends where `tail` names the next file', async () => {
  const record =
    'E0314 09:15:20.101234       1 proxier.go:1054] Failed to execute iptables-restore: exit status 1 (iptables-restore: line 7 failed\n)';
  const [wanted] = await readers.replayed(`${record}\n`);
  const found = await readers.replayed(`==> kube-proxy.log <==\n${record}\n\n==> other.log <==\nnothing\n`);
  expect(found.find(({ observation }) => observation !== null)?.observation).toEqual(wanted?.observation);
});
