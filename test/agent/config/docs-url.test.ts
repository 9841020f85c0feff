import { afterEach, expect, test, vi } from 'vitest';

const fresh = async (url: string): Promise<typeof import('../../../src/agent/config/docs-url.ts')> => {
  vi.stubEnv('DOCS_URL', url);
  vi.resetModules();
  return import('../../../src/agent/config/docs-url.ts');
};

afterEach(() => vi.unstubAllEnvs());

const page = 'docs/formats.md#who-is-believed';

test.each([
  ['without a slash at its end', 'https://wiki.example.org/network'],
  ['with a slash at its end', 'https://wiki.example.org/network/'],
  ['with many slashes at its end', 'https://wiki.example.org/network///'],
])('a page has a full address if DOCS_URL is set %s', async (_, url) => {
  const { documentAt, withAddresses, docsUrlProblem } = await fresh(url);
  expect(documentAt(page)).toBe(`https://wiki.example.org/network/${page}`);
  expect(withAddresses('as docs/a-b/c.md says; not mydocs/a.md')).toBe(
    'as https://wiki.example.org/network/docs/a-b/c.md says; not mydocs/a.md',
  );
  expect(docsUrlProblem()).toBeUndefined();
});

test('without DOCS_URL a page of a checkout is its path', async () => {
  const { documentAt, docsUrlProblem } = await fresh('');
  expect([documentAt(page), docsUrlProblem()]).toEqual([page, undefined]);
});

test.each([
  'wiki.example.org',
  'javascript:alert(1)',
  'https://a b',
  'https://a\u001b[2J',
  `https://${'a'.repeat(501)}`,
])('DOCS_URL %j is reported and has no effect', async (url) => {
  const { documentAt, docsUrlProblem } = await fresh(url);
  expect(documentAt(page)).toBe(page);
  expect(docsUrlProblem()).toContain('DOCS_URL');
});
