import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';

/** One way to damage a line, which is given as its characters or as its tokens; `from` and `until` are places in it. */
type Mutation = (parts: readonly string[], from: number, until: number, noise: string) => readonly string[];

const mutations: Readonly<Record<string, Mutation>> = {
  deleteRange: (parts, from, until) => parts.toSpliced(from, until - from),
  deleteOne: (parts, from) => parts.toSpliced(from, 1),
  cut: (parts, from) => parts.slice(0, from),
  repeatRange: (parts, from, until) => [...parts.slice(0, until), ...parts.slice(from)],
  repeatOne: (parts, from, until) => parts.toSpliced(until, 0, parts[from] ?? ''),
  swap: (parts, from, until) => parts.with(from, parts[until] ?? '').with(until, parts[from] ?? ''),
  insert: (parts, from, _, noise) => parts.toSpliced(from, 0, noise),
  replaceOne: (parts, from, _, noise) => parts.with(from, noise.slice(0, 1)),
  lengthen: (parts, from, _, noise) => parts.toSpliced(from, 0, (noise || 'x').repeat(500)),
};

/** Words of the format that mean most in the wrong place. */
const words = fc.constantFrom(
  ...'[ ] [8 bytes] INCOMPLETE TRUNCATED IN= OUT= SRC= DST= PROTO= PROTO=999 ACK SPT=65536 DPT=-1 TYPE=256'.split(' '),
  ...'FRAG:1 FRAG:x TTL=256 MARK=0x100000000 UID=0x1 LEN= ARP MAC=00 PHYSIN=a = =='.split(' '),
  ...'SRC=010.0.0.1 DST=1.2.3 SRC=fe80::1%eth0 DST=::ffff:192.0.2.1'.split(' '),
  ...'\0\r\n\t\u007f\u00a0\u2028 '.split(''),
  'ARP HTYPE=1',
  '  ',
  '\u001b[0m',
  '\ud800',
);
const noise = fc.oneof(words, fc.string({ unit: 'binary', maxLength: 3 }), fc.string({ maxLength: 3 }));
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** A line, damaged one to three times. */
export function mutated(line: Arbitrary<string>): Arbitrary<string> {
  const step = fc.record({
    mutation: fc.constantFrom(...Object.values(mutations)),
    separator: fc.constantFrom('', ' '),
    places: fc.tuple(fraction, fraction).map((both) => both.toSorted((a, b) => a - b)),
    noise,
  });
  return fc.record({ line, steps: fc.array(step, { minLength: 1, maxLength: 3 }) }).map((damaged) =>
    damaged.steps.reduce((text, { mutation, separator, places, noise: given }) => {
      const parts = text.split(separator);
      // An empty line cannot be damaged.
      if (parts.length === 0) return text;
      const [from = 0, until = 0] = places.map((place) => Math.floor(parts.length * place));
      return mutation(parts, from, until, given).join(separator);
    }, damaged.line),
  );
}

/** Not a line, but made of the words of lines. */
export const wordSalad: Arbitrary<string> = fc
  .array(
    fc.oneof(words, fc.constantFrom('IN=a ', 'OUT=b ', 'SRC=10.0.0.1 ', 'DST=10.0.0.2 ', 'PROTO=ICMP ', '[SRC=::1 ')),
    { maxLength: 40 },
  )
  .map((found) => found.join(''));
