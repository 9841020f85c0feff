import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

/**
 * Reads the tables of a test, which stand in the YAML file of its name beside it: `~` is what is undefined. The caller states their type by
 * `as`, and tables.test.ts has the compiler check it.
 */
export function tablesOf(file: string): unknown {
  return withoutNulls(load(readFileSync(file.replace(/(?:\.test)?\.ts$/, '.yaml'), 'utf8')));
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object') return value;
  if (value === null) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutNulls(each)]));
}
