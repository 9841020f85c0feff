import { describe, expect, test } from 'vitest';
import { signOf } from '../../src/explain/incidents/catalogue/catalogue.ts';
import { parse } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { parseProgramRecord } from '../../src/read/parsing/components/program-record.ts';
import { createClock } from '../../src/read/sources/envelopes/clock.ts';
import { kindOfLine } from '../../src/read/sources/kubelet/saved-log.ts';
import { readEnvelope } from '../../src/read/sources/envelopes/read-envelope.ts';
import { lines as packets } from '../corpus/lines.ts';
import { lines as records } from '../explain/incidents/catalogue/lines.ts';
import { isFuzz } from '../runs.ts';

/**
 * Milliseconds of processor time for the longest line. Linear reading takes about ten, quadratic reading a thousand.
 */
const bound = 250;
const [short, long] = [3000, 64 * 1024];
/** If the short line takes more milliseconds than this, the long one is tried. */
const suspicious = 2;
/** At how many places of a line something is repeated, and how many words. */
const [places, spans] = [isFuzz ? 40 : 10, [1, 4]];

const prefixes = createPrefixTable([]);
const clock = createClock({ latest: Date.UTC(2026, 10, 21) });

/** All readers that look at a line before it is known whose it is. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'of the kernel': (text) => parse(text, prefixes),
  'of another program': (text) => parse(text, prefixes, 'userspace', 'sshd'),
  'of kube-proxy or calico-node'(text) {
    const record = parseProgramRecord(text);
    return record && signOf(record);
  },
  'in an envelope': (text) => readEnvelope(text, clock),
  'of nobody knows whom': kindOfLine,
};

describe.each(Object.entries(readers))('a line %s', (_, read) => {
  test('takes linear time, whichever part is repeated', () => {
    const texts = new Set([...packets, ...records].map(({ text }) => text));
    expect([...texts].flatMap((text) => slowest(text, read))).toEqual([]);
  });
});

function slowest(text: string, read: (text: string) => unknown): string[] {
  const words = [...text.matchAll(/[a-z\d.]+|\s+|[^a-z\d.\s]/gi)];
  const step = Math.max(1, Math.floor(words.length / places));
  for (let first = 0; first < words.length; first += step)
    for (const span of spans) {
      const from = words[first]?.index ?? 0;
      const repeated = words.slice(first, first + span).join('');
      const filled = (size: number): string =>
        text.slice(0, from) + repeated.repeat(Math.ceil(size / repeated.length)) + text.slice(from);
      if (took(read, filled(short)) < suspicious) continue;
      const tries = [1, 2, 3].map(() => took(read, filled(long)));
      if (tries.every((each) => each > bound)) return [`${Math.min(...tries)} ms: ${JSON.stringify([text, repeated])}`];
    }
  return [];
}

/** Milliseconds of processor time. */
function took(read: (text: string) => unknown, text: string): number {
  const before = process.threadCpuUsage();
  read(text);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}
