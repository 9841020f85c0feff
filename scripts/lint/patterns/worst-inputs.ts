import { type AST, RegExpParser } from '@eslint-community/regexpp';

/** A text that a part of is repeated: `start`, then `again` as often as is asked. */
export interface WorstInput {
  start: string;
  again: string;
}

/** The numbers of times that a repeated part stands in a sample. */
const repetitions = [1, 3];
/** Alternatives that are followed up. */
const most = 24;
const longest = 120;

/**
 * Beginnings of texts that the pattern matches, each cut in two at every place: an expression takes more than linear time
 * exactly where some part of what it matches can be repeated, so that it begins again at each, or tries each as an end.
 */
export function* worstInputs(source: string, flags: string): Generator<WorstInput> {
  const seen = new Set<string>();
  for (const sample of samples(source, flags))
    for (let from = 0; from < sample.length; from++)
      for (let to = from + 1; to <= sample.length; to++) {
        const [start, again] = [sample.slice(0, from), sample.slice(from, to)];
        const key = JSON.stringify([start, again]);
        if (seen.has(key)) continue;
        seen.add(key);
        yield { start, again };
        // An alternative that is anchored at the first character is free behind another one.
        if (from === 0) yield { start: '!', again };
      }
}

/** Whether the pattern has a part that may be repeated, or stand, more often than a line has any bearing on. */
export function mayBeSlow(source: string): boolean {
  return /[*+]|\{\d+,(?:\d{2,})?\}/.test(source);
}

function samples(source: string, flags: string): Set<string> {
  const parsed = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes('u'),
    unicodeSets: flags.includes('v'),
  });
  const literals = [...new Set(source.replaceAll(/\\./g, ''))].filter((each) => /[\w \-./:"'=,;<>()[\]|]/.test(each));
  // A character of a class is worst where another part of the pattern would take it, too.
  const preferences = [
    ['a', '0', '_', ' ', '-', '.', '/', ':', '"', ...literals],
    [...literals, 'a', '0', ' '],
    [...literals.toReversed(), 'a', '0', ' '],
    ['.', '-', ' ', '0', 'a', ...literals],
    ['\r', '\n', '0', 'a', ' ', ...literals],
  ];
  return new Set(
    preferences.flatMap((preferred) =>
      repetitions.flatMap((times) => ofAlternatives(parsed.alternatives, { preferred, times, flags })),
    ),
  );
}

interface Choice {
  preferred: readonly string[];
  times: number;
  flags: string;
}

function ofAlternatives(alternatives: readonly AST.Alternative[], choice: Choice): string[] {
  return alternatives
    .flatMap(({ elements }) => {
      let texts = [''];
      for (const element of elements) {
        const [first = '', ...others] = ofElement(element, choice);
        // One alternative after the other, not each with each.
        const [before = ''] = texts;
        texts = [...texts.map((text) => text + first), ...others.map((other) => before + other)].slice(0, most);
      }
      return texts.filter((text) => text.length <= longest);
    })
    .slice(0, most);
}

function ofElement(element: AST.Element, choice: Choice): string[] {
  switch (element.type) {
    case 'Character':
      return [String.fromCodePoint(element.value)];
    case 'Group':
    case 'CapturingGroup':
      return ofAlternatives(element.alternatives, choice);
    case 'Quantifier': {
      const times = Math.min(element.max, Math.max(element.min, choice.times));
      return ofElement(element.element, choice).map((text) => text.repeat(times));
    }
    case 'Assertion':
    case 'Backreference':
      return [''];
    default: {
      const one = new RegExp(`^${element.raw}$`, choice.flags.replaceAll(/[^uvis]/g, ''));
      return [[...choice.preferred, '\n', "'", '`', '^', 'é', '\0'].find((each) => one.test(each)) ?? 'a'];
    }
  }
}
