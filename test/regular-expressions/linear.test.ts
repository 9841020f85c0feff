import { expect, test } from 'vitest';
import { line, slowest } from '../../scripts/lint/patterns/slow-patterns.ts';

test.each([
  { source: '_\\w+ failed', flags: '' },
  { source: '(?:RULE|CHAIN)_\\w+ failed', flags: '' },
  { source: '\\s+$', flags: '' },
  { source: '^-+|-+$', flags: 'g' },
  { source: '(\\w{1,32}): (.*)$', flags: '' },
  { source: '"(.*?)"(?= end)', flags: 'g' },
  { source: '^(?:a|a)*b', flags: '', length: 24 },
])('the lint of regular expressions finds a slow one: /$source/$flags', ({ source, flags, length = line / 8 }) => {
  expect(slowest({ place: 'here:1', source, flags }, length)).not.toEqual([]);
});
