import { expect, test } from 'vitest';
import { knownTexts } from '../../../src/read/parsing/known-texts.ts';
import { createClock } from '../../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../../src/read/sources/envelopes/read-envelope.ts';
import { isProgramLog } from '../../../src/read/sources/kubelet/saved-log.ts';

/** Tests a line that contains several quoted lines, and the times of collectors that print records as a hash. */

const latest = Date.parse('2026-11-21T20:00:00Z');
const packets = ['10.0.0.1', '10.0.0.2', '10.0.0.3'].map(
  (source) => `Nov 21 03:42:11 node-a kernel: calico-drop: IN=eth0 OUT=cali1 SRC=${source} DST=10.0.0.9`,
);

function read(line: string) {
  const envelope = readEnvelope(line, createClock({ latest }), knownTexts);
  return [envelope, ...envelope.more];
}

function sourcesIn(line: string): (string | undefined)[] {
  return read(line).map(({ text }) => /SRC=(\S+)/.exec(text)?.[1]);
}

test.each([
  ['a list of Python', `[${packets.map((each) => `'${each}'`).join(', ')}]`],
  ['a list in a line of keys', `lines: [${packets.map((each) => `'${each}'`).join(', ')}]`],
  ['a list of hashes', `[${packets.map((each) => `{"host"=>"node-a", "log"=>"${each}"}`).join(', ')}]`],
])('%s: each line is read', (_, line) => {
  expect(sourcesIn(line)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
});

test.each([
  ['under another key', `msg="${packets[0]}" original="<4>${packets[0]}"`],
  ['under the same key, and the same text', `[{"log"=>"${packets[0]}"}, {"log"=>"${packets[0]}"}]`],
])('a second form of the same line, %s, does not count as a second line', (_, line) => {
  expect(sourcesIn(line)).toEqual(['10.0.0.1']);
});

test.each([
  ['[0] tail.0: [[1795226670.500000000, {}], {"log"=>"calico-drop: IN=eth0 OUT=cali1 SRC=10.0.0.1 DST=10.0.0.9"}]'],
  ['[0] tail.0: [1795226670.500000000, {"log"=>"calico-drop: IN=eth0 OUT=cali1 SRC=10.0.0.1 DST=10.0.0.9"}]'],
  [`{"@timestamp"=>2026-11-21T02:04:30.500Z, "msg"=>"calico-drop: IN=eth0 OUT=cali1 SRC=10.0.0.1 DST=10.0.0.9"}`],
])('the time before a hash is used: %s', (line) => {
  expect(read(line).map(({ time }) => time && new Date(time).toISOString())).toEqual(['2026-11-21T02:04:30.500Z']);
});

test("kernel lines in a collector's keys and values do not count as a log of calico-node", () => {
  const lines = packets.map((each) => `time="2026-11-21T03:42:12Z" level=warning msg="${each}"\n`);
  expect(isProgramLog(lines.join(''))).toBe(false);
});
