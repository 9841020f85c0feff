import { describe, expect, test } from 'vitest';
import { builtPatterns, literalPatterns, type Pattern } from './patterns.ts';
import { mayBeSlow, worstInputs } from './worst-inputs.ts';

/** The longest line that is read. */
const line = 64 * 1024;
/** Characters of a first, quick try. */
const short = 3000;
/** Milliseconds of it that make the whole line worth a try: what is linear takes a hundredth of that. */
const suspicious = 0.25;
/** Milliseconds of processor time for such a line. What is linear takes one or two, what is quadratic a thousand at least. */
const bound = 250;

const literals = literalPatterns();
const built = await builtPatterns([
  'commands/doctor/rules/words.ts',
  'incidents/catalogue/bgp.ts',
  'config/schema.ts',
  'parsing/formats.ts',
  'sources/program-log/follow-program.ts',
]);

describe('no text of 64 KiB can hold up', () => {
  const inFiles = Map.groupBy([...literals, ...built], ({ place }) => place.slice(0, place.indexOf(':')));
  test.each([...inFiles])('%s', (_, patterns) => {
    expect(patterns.flatMap((pattern) => slowest(pattern, line))).toEqual([]);
  });
});

test('patterns are found', () => {
  expect(literals.length).toBeGreaterThan(300);
  expect(built.length).toBeGreaterThan(3);
});

test.each([
  { source: '_\\w+ failed', flags: '' },
  { source: '(?:RULE|CHAIN)_\\w+ failed', flags: '' },
  { source: '\\s+$', flags: '' },
  { source: '^-+|-+$', flags: 'g' },
  { source: '(\\w{1,32}): (.*)$', flags: '' },
  { source: '"(.*?)"(?= end)', flags: 'g' },
  { source: '^(?:a|a)*b', flags: '', length: 24 },
])('a slow one is found: /$source/$flags', ({ source, flags, length = line / 4 }) => {
  expect(slowest({ place: 'here:1', source, flags }, length)).not.toEqual([]);
});

/** The text that such a pattern takes too long for, if there is one. */
function slowest({ place, source, flags }: Pattern, length: number): string[] {
  if (!mayBeSlow(source)) return [];
  const pattern = new RegExp(source, flags);
  for (const { start, again } of worstInputs(source, flags)) {
    const filled = (size: number): string => `${start}${again.repeat(Math.ceil(size / again.length))}\n!`;
    if (took(pattern, filled(Math.min(short, length))) < suspicious) continue;
    const whole = filled(length);
    // What is quadratic takes a sixteenth of the time for a quarter of the line.
    const allowed = Math.max(1, bound * (length / line) ** 2);
    // Three times: what else the machine does must not have a say.
    const tries = [1, 2, 3].map(() => took(pattern, whole));
    if (tries.every((each) => each > allowed))
      return [
        `${place} /${source}/${flags} takes ${Math.round(Math.min(...tries))} ms for ${JSON.stringify([start, again])}`,
      ];
  }
  return [];
}

/** Milliseconds of processor time. */
function took(pattern: RegExp, text: string): number {
  pattern.lastIndex = 0;
  const before = process.cpuUsage();
  if (pattern.global) text.replace(pattern, '');
  else pattern.test(text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
