/** `npm run bench -- formats`: how many lines of each format are parsed in the time of one LOG line; medians of 7 runs, all in turn. */
import { alignColumns } from '../../src/events/describe.ts';
import { createPrefixTable } from '../../src/parsing/netfilter/prefixes.ts';
import { formats } from '../../src/parsing/formats.ts';
import { parse } from '../../src/parsing/parsing.ts';
import { lines } from '../corpus/lines.ts';

const prefixes = createPrefixTable();
const samples = formats.flatMap(({ name, parse: read }) => {
  const text = lines.map((each) => each.text).find((each) => read(each, prefixes)?.kind === 'packet');
  return text === undefined ? [] : [{ name, text, times: [] as number[] }];
});

for (let run = 0; run < 8; run++) {
  for (const { text, times } of samples) {
    const begin = performance.now();
    for (let i = 0; i < 20_000; i++) parse(text, prefixes);
    // The first run is the compiler's.
    if (run > 0) times.push((performance.now() - begin) / 20);
  }
}
const medianOf = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[3] ?? 0;
const [log = 0] = samples.map(({ times }) => medianOf(times));
const rows = samples.map(({ name, text, times }) => {
  const micros = medianOf(times);
  return [name, String(text.length), micros.toFixed(2), (micros / log).toFixed(1)];
});
console.log(alignColumns([['format', 'characters', 'µs', 'times a LOG line'], ...rows]).join('\n'));
