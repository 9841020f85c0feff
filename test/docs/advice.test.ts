import { expect, test } from 'vitest';
import { commandsInMessage } from './advice.ts';
import { tablesOf } from '../tables.ts';

const tables = tablesOf(import.meta.filename) as { messages: [string, string[]][] };

test.each<[string, string[]]>(tables.messages)('commands in a message: %s', (message, commands) => {
  expect(commandsInMessage(message)).toEqual(commands);
});
