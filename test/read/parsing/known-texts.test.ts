import { expect, test } from 'vitest';
import { formats } from '../../../src/read/parsing/formats.ts';
import { knownTexts } from '../../../src/read/parsing/known-texts.ts';

test('each literal of each format is found in each spelling, and the names, stamps and labels of a record are not', () => {
  const spellings = formats
    .flatMap(({ needles }) => needles)
    .flatMap((needle) => [
      needle,
      needle.replaceAll(':', ' : '),
      needle.replaceAll('"', String.raw`\"`),
      needle.replaceAll('"', String.raw`\\u0022`),
    ]);
  const unnoticed = spellings.filter((each) => !knownTexts.mentions(`…${each}…`));
  expect(unnoticed).toEqual([]);
  const others = ['node-000', '/var/log/kern.log', '2026-03-02T08:00:00.000000123Z', 'cri-containerd-97.scope'];
  expect(others.filter((each) => knownTexts.mentions(each))).toEqual([]);
});
