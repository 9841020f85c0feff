import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expectedPath, logText, type Outcome, replaySample, samplesFolder, samplesWith } from './sample.ts';

const cases = samplesWith('.log');
const packetLine =
  /IN=\S* OUT=.* PROTO=|martian \w+ \S+ from |"flow":\{.*"IP":\{|"disposition":| verdict="|\(skb\.kfree_skb\) |packets_(?:in|out)\\"/;
/**
 * Trace points, and the second line about a packet that a policy dropped: in the sample, only those have a `sub_type`.
 */
const otherHubbleLine = /"event_type":\{"type":(?:4|1,"sub_type")/;

// If a difference is intended: node scripts/update-samples.ts, then read what git diff shows.
describe.each(cases)('%s', (name) => {
  test('gives the expected output', async () => {
    const expected = JSON.parse(readFileSync(expectedPath(name), 'utf8')) as Outcome;
    expect(await replaySample(name)).toEqual(expected);
  });

  test('every packet in the log is counted', async () => {
    // The count is like grep's: it sees no envelopes, prefixes or fields.
    const lines = logText(name)
      .split('\n')
      .filter((line) => packetLine.test(line) && !otherHubbleLine.test(line))
      .reduce((sum, line) => {
        const counts = [...line.matchAll(/"count":(\d+)|packets_(?:in|out)\\":(\d+)/g)];
        return (
          sum +
          (counts.length === 0 ? 1 : counts.reduce((all, [, count, packets]) => all + Number(count ?? packets), 0))
        );
      }, 0);
    const { drops, logged, accepted } = (await replaySample(name)).summary;
    // Failed connections are not packets; in that sample, policies deny five of them.
    expect(drops + logged + accepted).toBe(lines + (name === 'connect-failures' ? 5 : 0));
  });
});

test('every log has an expected outcome and a row in the README, and every row has a log', () => {
  const readme = readFileSync(join(samplesFolder, 'README.md'), 'utf8');
  const rows = [...readme.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, name = '']) => name);
  expect(cases).not.toEqual([]);
  expect(samplesWith('.expected.json')).toEqual(cases);
  expect(rows.toSorted()).toEqual(cases);
});
