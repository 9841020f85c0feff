import { expect, test } from 'vitest';
import { retryDelays } from '../../src/publish/events/events.ts';
import { textOf } from './documents.ts';

/** Delays as documents write them. */
const words: Readonly<Record<number, string>> = { 60_000: 'a minute', 600_000: 'ten minutes' };

/** Sentences that name a delay, which is in the brackets. */
const sentences = [
  [
    'docs/reliability.md',
    /\| each Event that fails \(500\) is tried again after (.*?) and delays no other \|/,
    'failed',
  ],
  [
    'docs/reliability.md',
    /\| tries each again after (.*?) and continues with the others; logs it as `event failed` \|/,
    'failed',
  ],
  ['docs/reliability.md', /\| an Event is denied by .* \| (.*?) \|\n/, 'denied'],
  ['docs/reliability.md', /tries again with the first packet after (.*?) \|/, 'abandoned'],
  ['docs/reliability.md', /\| does not try its Events for (.*?), `events_abandoned_total`/, 'abandoned'],
  ['docs/threat-model.md', /reported as a denial with its author, and tried again every (.*?);/, 'denied'],
  ['docs/alerts/KubeNetfilterTailerEventsRefused.md', /The agent tries again every (.*?); no count/, 'denied'],
] as const;

test.each(sentences)('%s states the delay of retry.ts in %s', (document, sentence, delay) => {
  expect(sentence.exec(textOf(document))?.[1]).toBe(words[retryDelays[delay]]);
});
