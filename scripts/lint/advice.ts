/**
 * Finds commands in messages of src that no file of expected messages has: test/e2e/docs runs those that stand there, so a new advice must be
 * brought about in the test that writes the file.
 */
import { commandsInMessage } from '../../test/docs/advice.ts';
import { expectedMessages } from '../../test/docs/all-commands.ts';
import { filesBelow, textOf } from '../../test/docs/documents.ts';
import { literalsOf } from './literals.ts';

/** One line for each such message. */
export function unexpectedAdvice(): string[] {
  const expected = expectedMessages.map(textOf).join('\n');
  const sources = ['src/explain/drops', 'src/explain/incidents', 'src/cli/doctor'].flatMap((folder) =>
    filesBelow(folder, '.ts'),
  );
  return sources.flatMap((file) =>
    literalsOf(textOf(file))
      .filter(
        ({ text }) =>
          commandsInMessage(text).length > 0 && text.split('…').some((part) => !expected.includes(part.trim())),
      )
      .map(({ line, text }) => `${file}:${line} advises "${text}", which is in none of ${expectedMessages.join(', ')}`),
  );
}
