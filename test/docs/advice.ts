import { basename } from 'node:path';
import { load } from 'js-yaml';
import type { Command } from './commands.ts';
import { asCommand, programNames } from './programs.ts';

/** Words that go on with the sentence when they stand where an argument could. */
const sentence = new Set(
  'a and as at for from in is it must of on or shows than that the then to until what where with would first'.split(
    ' ',
  ),
);

/**
 * The commands that a message advises. Messages have no mark-up, for they are shown in Events: a command begins with the name of a program
 * that `programs.ts` knows, and ends where the sentence goes on or ends.
 */
export function commandsInMessage(message: string): string[] {
  const found: string[] = [];
  let end = 0;
  for (const { index } of message.matchAll(programNames)) {
    if (index < end) continue;
    const text = cut(message.slice(index));
    const command = asCommand(text);
    if (command === undefined) continue;
    found.push(command);
    end = index + text.length;
  }
  return found;
}

/** As far as it is one command. */
function cut(text: string): string {
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    const [, kept = word] = /^(.*[^,.:;)])[,.:;)]+$/s.exec(word) ?? [];
    if (sentence.has(kept) || /^\(|^[A-Z][a-z]/.test(word)) break;
    end = index + kept.length;
    if (kept !== word) break;
  }
  return text.slice(0, end);
}

/**
 * What the messages in a source file advise. `values`: what stands in a message for each `${…}` in it; throws an error that says which one is
 * missing.
 */
export function adviceInSource(document: string, source: string, values: Readonly<Record<string, string>>): Command[] {
  return source.split('\n').flatMap((code, index) => {
    if (/^\s*(?:\/\/|\/?\*)/.test(code)) return [];
    const line = index + 1;
    return literalsOf(code).flatMap((literal) => {
      const unknown: string[] = [];
      const message = literal.replaceAll(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g, (_, expression: string) => {
        const value = values[`${basename(document)} ${expression}`] ?? values[expression];
        return value ?? `\u{0}${unknown.push(expression) - 1}\u{0}`;
      });
      return commandsInMessage(message).map((text): Command => {
        const [, number] = /\u{0}(\d+)\u{0}/u.exec(text) ?? [];
        if (number !== undefined)
          throw new Error(
            `${document}:${line}: add to "expressions" in test/docs/fillings.ts what \${${unknown[Number(number)]}} may be in a command`,
          );
        return { document, line, text, from: 'advice' };
      });
    });
  });
}

/** The texts in quotes of a line of a program; the formatter keeps each on one line. */
function literalsOf(line: string): string[] {
  return [...line.matchAll(/'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)].map(
    ([, single, double, template]) => (single ?? double ?? template ?? '').replaceAll(/\\(.)/g, '$1'),
  );
}

interface PrometheusRule {
  spec: { groups: { rules: { alert?: string; annotations?: Record<string, string> }[] }[] };
}

/** What the annotations of alerts advise; `{{ $labels.node }}` becomes `NODE`, and so on. */
export function adviceInAlerts(document: string, yaml: string): Command[] {
  const lines = yaml.split('\n');
  const { spec } = load(yaml) as PrometheusRule;
  return spec.groups.flatMap(({ rules }) =>
    rules.flatMap(({ alert, annotations = {} }) =>
      Object.values(annotations).flatMap((message) =>
        commandsInMessage(placeholdersIn(message)).map((text): Command => {
          const line = lines.findIndex((each) => each.trim() === `- alert: ${alert}`) + 1;
          return { document, line, text, from: 'advice' };
        }),
      ),
    ),
  );
}

function placeholdersIn(message: string): string {
  return message.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => label.toUpperCase());
}
