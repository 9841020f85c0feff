import fc from 'fast-check';
import type { Arbitrary } from 'fast-check';

/** One way to damage a line; `at` and `to` are fractions of its length or of its number of tokens. */
type Mutation = (line: string, at: number, to: number, noise: string) => string;

const index = (size: number, fraction: number): number => Math.floor(size * fraction);

function range(line: string, at: number, to: number): [number, number] {
  const [from, until] = [index(line.length, Math.min(at, to)), index(line.length, Math.max(at, to))];
  return [from, until];
}

const deleteBytes: Mutation = (line, at, to) => {
  const [from, until] = range(line, at, to);
  return line.slice(0, from) + line.slice(until);
};

const deleteOne: Mutation = (line, at) => {
  const from = index(line.length, at);
  return line.slice(0, from) + line.slice(from + 1);
};

const duplicate: Mutation = (line, at, to) => {
  const [from, until] = range(line, at, to);
  return line.slice(0, until) + line.slice(from);
};

const insert: Mutation = (line, at, _to, noise) => {
  const from = index(line.length, at);
  return line.slice(0, from) + noise + line.slice(from);
};

const replaceOne: Mutation = (line, at, _to, noise) => {
  const from = index(line.length, at);
  return line.slice(0, from) + noise.slice(0, 1) + line.slice(from + 1);
};

const cut: Mutation = (line, at) => line.slice(0, index(line.length, at));

const swapTokens: Mutation = (line, at, to) => {
  const tokens = line.split(' ');
  const [first, second] = [index(tokens.length, at), index(tokens.length, to)];
  return tokens
    .map((token, each) => (each === first ? tokens[second] : each === second ? tokens[first] : token))
    .join(' ');
};

const dropToken: Mutation = (line, at) => {
  const tokens = line.split(' ');
  return tokens.toSpliced(index(tokens.length, at), 1).join(' ');
};

const repeatToken: Mutation = (line, at, to) => {
  const tokens = line.split(' ');
  return tokens.toSpliced(index(tokens.length, to), 0, tokens[index(tokens.length, at)] ?? '').join(' ');
};

const insertToken: Mutation = (line, at, _to, noise) => {
  const tokens = line.split(' ');
  return tokens.toSpliced(index(tokens.length, at), 0, noise).join(' ');
};

const lengthen: Mutation = (line, at, _to, noise) => insert(line, at, 0, (noise || 'x').repeat(500));

const mutation = fc.constantFrom(
  deleteBytes,
  deleteOne,
  duplicate,
  insert,
  replaceOne,
  cut,
  swapTokens,
  dropToken,
  repeatToken,
  insertToken,
  lengthen,
);

/** Words of the format that mean most where they do not belong. */
const words = fc.constantFrom(
  '[',
  ']',
  '[8',
  'bytes]',
  'INCOMPLETE',
  'TRUNCATED',
  'IN=',
  'OUT=',
  'SRC=',
  'DST=',
  'PROTO=',
  'PROTO=999',
  'ACK',
  'SPT=65536',
  'DPT=-1',
  'TYPE=256',
  'FRAG:1',
  'FRAG:x',
  'TTL=256',
  'MARK=0x100000000',
  'UID=0x1',
  'LEN=',
  'ARP',
  'SRC=010.0.0.1',
  'DST=1.2.3',
  'SRC=fe80::1%eth0',
  'DST=::ffff:192.0.2.1',
  'ARP HTYPE=1',
  'MAC=00',
  'PHYSIN=a',
  '\0',
  '\r',
  '\n',
  '\t',
  '\u001b[0m',
  '\u007f',
  '\u00a0',
  '\u2028',
  '\ud800',
  '=',
  '==',
  ' ',
  '  ',
);
const noise = fc.oneof(words, fc.string({ unit: 'binary', maxLength: 3 }), fc.string({ maxLength: 3 }));
const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** A line, damaged one to three times. */
export function mutated(line: Arbitrary<string>): Arbitrary<string> {
  const step = fc.record({ mutation, at: fraction, to: fraction, noise });
  return fc
    .record({ line, steps: fc.array(step, { minLength: 1, maxLength: 3 }) })
    .map((parts) => parts.steps.reduce((text, each) => each.mutation(text, each.at, each.to, each.noise), parts.line));
}

/** No line at all, but made of the words of one. */
export const wordSalad: Arbitrary<string> = fc
  .array(
    fc.oneof(words, fc.constantFrom('IN=a ', 'OUT=b ', 'SRC=10.0.0.1 ', 'DST=10.0.0.2 ', 'PROTO=ICMP ', '[SRC=::1 ')),
    { maxLength: 40 },
  )
  .map((found) => found.join(''));
