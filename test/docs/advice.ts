import { load } from 'js-yaml';
import type { Command } from './commands.ts';
import { asCommand, programNames } from './programs.ts';

/** Words that continue the sentence if they stand where an argument could. */
const sentence = new Set(
  'a and as at for from in is it must of on or shows than that the then to until what where with would first'.split(
    ' ',
  ),
);

/**
 * The commands that a message advises. Messages are shown in Events, so they have no mark-up: a command begins with the
 * name of a program that `programs.ts` knows, and ends where the sentence continues or ends.
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

/** Cuts the text where the command ends. */
function cut(text: string): string {
  let end = 0;
  for (const { 0: word, index } of text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)) {
    const [, kept = word] = /^(.*[^,.:;)])[,.:;)]+$/s.exec(word) ?? [];
    if (sentence.has(kept) || /^[([]|^[A-Z][a-z]/.test(word)) break;
    end = index + kept.length;
    if (kept !== word) break;
  }
  return text.slice(0, end);
}

/** Returns the commands that the messages in a file of expected ones advise. */
export function adviceInExpected(document: string, text: string): Command[] {
  return text.split('\n').flatMap((message, index) =>
    commandsInMessage(message).map((command): Command => ({
      document,
      line: index + 1,
      text: command,
      from: 'advice',
    })),
  );
}

interface PrometheusRule {
  spec: { groups: { rules: { alert?: string; annotations?: Record<string, string> }[] }[] };
}

/** Returns the commands that the annotations of alerts advise; `{{ $labels.node }}` becomes `NODE`, and so on. */
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
