import { expect, test } from 'vitest';
import { parse } from '../../src/read/parsing/formats.ts';
import { createPrefixTable } from '../../src/read/parsing/netfilter/prefixes.ts';
import { loggingPages, shippedFiles } from './files.ts';

const text = loggingPages().join('\n');
const lines = [...text.matchAll(/^```log\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trimEnd().split('\n'));

test('the pages on logging show log lines', () => {
  expect(lines.length).toBeGreaterThanOrEqual(12);
});

test.each(lines)('a line shown on a page on logging is a lost packet: %s', (line) => {
  const observation = parse(line, createPrefixTable());
  expect(observation?.kind).toBe('packet');
  if (observation?.kind === 'packet') expect(['dropped', 'rejected']).toContain(observation.verdict);
});

test.each(shippedFiles())('a page on logging names deploy/logging/%s', (name) => {
  expect(text).toContain(name);
});
