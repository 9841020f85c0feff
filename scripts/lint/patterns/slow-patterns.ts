/** Finds regular expressions of src that a line of 64 KiB can hold up: a stranger who writes a log must not be able to stop the agent. */
import { builtPatterns, literalPatterns, type Pattern } from './patterns.ts';
import { mayBeSlow, worstInputs } from './worst-inputs.ts';

/** The longest line that is read. */
export const line = 64 * 1024;
/** Characters of a first, quick try. */
const short = 3000;
/** Milliseconds of it that make the whole line worth a try: what is linear takes a hundredth of that. */
const suspicious = 0.25;
/** Milliseconds of processor time for such a line. What is linear takes one or two, what is quadratic a thousand at least. */
const bound = 250;

/** Modules that make regular expressions of texts while they are loaded. */
const building = [
  'cli/doctor/rules.ts',
  'explain/incidents/catalogue/bgp.ts',
  'agent/config/values.ts',
  'read/parsing/formats.ts',
  'read/sources/tail/follow-file.ts',
];

/** One line for each slow one, and one if the search finds so few that it must be broken. */
export async function slowPatterns(): Promise<string[]> {
  const literals = literalPatterns();
  const built = await builtPatterns(building);
  const few =
    literals.length > 300 && built.length > 3
      ? []
      : [`only ${literals.length} and ${built.length} regular expressions are found in src`];
  return [...few, ...[...literals, ...built].flatMap((pattern) => slowest(pattern, line))];
}

/** The text that such a pattern takes too long for, if there is one. */
export function slowest({ place, source, flags }: Pattern, length: number): string[] {
  if (!mayBeSlow(source)) return [];
  const pattern = new RegExp(source, flags);
  for (const { start, again } of worstInputs(source, flags)) {
    const filled = (size: number): string => `${start}${again.repeat(Math.ceil(size / again.length))}\n!`;
    if (took(pattern, filled(Math.min(short, length))) < suspicious) continue;
    const whole = filled(length);
    // A quadratic expression takes a sixteenth of the time for a quarter of the line.
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
