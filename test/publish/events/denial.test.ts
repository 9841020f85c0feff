import { expect, test } from 'vitest';
import { denierOf } from '../../../src/publish/events/denial.ts';
import { tablesOf } from '../../tables.ts';

const tables = tablesOf(import.meta.filename) as { denials: [number, string, ReturnType<typeof denierOf>][] };

const forbidden = 'events "web.1a2b" is forbidden: ';

test.each(tables.denials)(
  'the program that denied a write is known by status %i and text: %s',
  (status, message, denier) => {
    expect(denierOf({ status, reason: '', message })).toBe(denier);
  },
);

test('a namespace that is being deleted is no denial', () => {
  const message = `${forbidden}unable to create new content in namespace shop because it is being terminated`;
  expect(denierOf({ status: 403, reason: 'NamespaceTerminating', message })).toBeUndefined();
});
