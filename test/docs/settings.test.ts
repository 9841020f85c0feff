import { expect, test } from 'vitest';
import { successors, withoutSuccessor } from '../../src/agent/config/layer.ts';
import { configFile, settings } from '../../src/agent/config/settings.ts';
import { documentPaths, textOf } from './documents.ts';
import { readMarkdown } from './markdown.ts';
import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as { others: Record<string, string> };

/** Words of that form that are no settings of this program, and whose they are. */
const others: Readonly<Record<string, string>> = tables.others;

/** Reasons of Cilium and of the kernel look like variables; test/explain/drops/reasons.test.ts holds these lists. */
const isReason = (at: string): boolean => /^docs\/(?:logging\/cilium|kernel-drops)\.md:/.test(at);

const variables = new Set([
  configFile.env,
  ...Object.values(settings).map(({ env }) => env),
  ...Object.keys(successors),
  ...withoutSuccessor,
]);

/** Names of variables in sentences: `LOG_LEVEL`, `POD_CACHE=cluster`. One word alone may be anything. */
const named = documentPaths().flatMap((document) =>
  readMarkdown(textOf(document)).spans.flatMap(({ line, text }) => {
    const [, name] = /^([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=.*)?$/.exec(text) ?? [];
    return name === undefined ? [] : [{ name, at: `${document}:${line}` }];
  }),
);

test('every variable that a document names is a setting, or a setting of another program', () => {
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ name, at }) => !variables.has(name) && !Object.hasOwn(others, name) && !isReason(at))).toEqual(
    [],
  );
});

test.each(Object.keys(others))('a document still names %s', (name) => {
  expect(named.map((each) => each.name)).toContain(name);
});
