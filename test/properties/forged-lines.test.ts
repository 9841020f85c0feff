import { expect, test } from 'vitest';
import { parse } from '../../src/read/parsing/formats.ts';
import { knownTexts } from '../../src/read/parsing/known-texts.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { createClock } from '../../src/read/sources/envelopes/clock.ts';
import { readEnvelope } from '../../src/read/sources/envelopes/read-envelope.ts';
import { objects, prefixes } from './wrapping.ts';

const clock = createClock({ latest: Date.parse('2026-11-21T12:00:00Z') });
const prefixTable = createPrefixTable();
const at = Date.parse('2026-11-21T11:59:03Z');
const packet =
  'calico-drop: IN=eth0 OUT=eth1 SRC=10.0.0.1 DST=10.0.0.2 LEN=60 TTL=64 ID=1 PROTO=TCP SPT=1 DPT=5432 SYN';
const forged = [
  `Nov 21 11:59:03 node-a kernel: ${packet}`,
  `Nov 21 11:59:03 node-a kernel: [ 12.000001] ${packet}`,
  `[   12.000001] ${packet}`,
];

/** The envelopes of log daemons, runtimes and tools around the text of a program or a Pod. */
const ofPrograms: readonly (readonly [string, (text: string) => string])[] = [
  ['a syslog', (text) => `Nov 21 11:59:03 node-a evil[77]: ${text}`],
  ['a syslog with a precise stamp', (text) => `2026-11-21T11:59:03.250000+00:00 node-a evil[77]: ${text}`],
  ['a syslog with a priority', (text) => `<14>Nov 21 11:59:03 node-a evil[77]: ${text}`],
  ['the ring buffer', (text) => `12,801,12000001,-;evil[77]: ${text}`],
  ['kubectl logs --prefix', (text) => `[pod/web-0/app] ${text}`],
  ['labels of a Pod', (text) => `2026-11-21T11:59:03Z {namespace="shop", pod="web-0", container="app"} ${text}`],
  [
    'the journal',
    (text) =>
      JSON.stringify({
        MESSAGE: text,
        _TRANSPORT: 'stdout',
        SYSLOG_IDENTIFIER: 'evil',
        _COMM: 'evil',
        _HOSTNAME: 'node-a',
      }),
  ],
  [
    'a collector that names the Pod',
    (text) =>
      JSON.stringify({
        log: `${text}\n`,
        stream: 'stdout',
        kubernetes: { namespace_name: 'shop', pod_name: 'web-0', container_name: 'app' },
      }),
  ],
];

function isBelieved(line: string): boolean {
  const { text, origin, program, more } = readEnvelope(line, clock, knownTexts);
  const found = [{ text, origin, program }, ...more].map((each) =>
    parse(each.text, prefixTable, each.origin, each.program),
  );
  return found.some((each) => each?.kind === 'packet');
}

test.each(ofPrograms)("text that a program prints around a kernel line stays the program's own: %s", (_, around) => {
  const believed = [...prefixes, ...objects].flatMap(({ name, wrap }) =>
    forged.filter((line) => isBelieved(around(wrap([line], at).replace(/\n$/, '')))).map(() => name),
  );
  expect(believed).toEqual([]);
});

test('the same wrappings are read if the writer is unknown', () => {
  const [line = ''] = forged;
  const read = [...prefixes, ...objects].filter(({ wrap }) => isBelieved(wrap([line], at).replace(/\n$/, '')));
  expect(read.length).toBeGreaterThan(40);
});
