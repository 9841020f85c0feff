import { expect, test } from 'vitest';
import { parse } from '../../src/parsing/formats.ts';
import { createPrefixTable } from '../../src/parsing/netfilter/prefixes.ts';
import { readDocument, shippedFiles } from './files.ts';

const document = readDocument('docs/logging.md');
const lines = [...document.matchAll(/^```log\n(.*?)^```$/gms)].flatMap(([, block = '']) => block.trimEnd().split('\n'));

test('it shows lines', () => {
  expect(lines.length).toBeGreaterThanOrEqual(12);
});

test.each(lines)('a line it shows is read as a lost packet: %s', (line) => {
  const observation = parse(line, createPrefixTable());
  expect(observation?.kind).toBe('packet');
  if (observation?.kind === 'packet') expect(['dropped', 'rejected']).toContain(observation.verdict);
});

test.each(shippedFiles())('it links or names %s', (name) => {
  expect(document).toContain(name);
});

test('what it links to is there', () => {
  const targets = [...document.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target);
  expect(targets.length).toBeGreaterThan(5);
  for (const target of targets.filter((path) => !path.endsWith('/')))
    expect(readDocument(`docs/${target}`)).not.toBe('');
});

test('its sections are there that it points to', () => {
  const headings = [...document.matchAll(/^## (.*)$/gm)].map(([, text = '']) =>
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  );
  const pointers = [...document.matchAll(/\]\(#([^)]+)\)/g)].map(([, target = '']) => target);
  expect(pointers.length).toBeGreaterThan(8);
  for (const pointer of pointers) expect(headings).toContain(pointer);
});

test.each([
  ['[UFW BLOCK] ', 'dropped'],
  ['[UFW LIMIT BLOCK] ', 'rejected'],
  ['[UFW ALLOW] ', 'accepted'],
  ['[UFW AUDIT] ', 'logged'],
  ['[UFW AUDIT INVALID] ', 'logged'],
  ['filter_IN_public_DROP: ', 'dropped'],
  ['STATE_INVALID_DROP: ', 'dropped'],
  ['rpfilter_DROP: ', 'dropped'],
  ['RFC3964_IPv4_REJECT: ', 'rejected'],
  ['shop-deny ', 'dropped'],
])('the prefix %s is %s', (prefix, verdict) => {
  expect(createPrefixTable().look(prefix).verdict).toBe(verdict);
});
