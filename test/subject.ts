import { expect } from 'vitest';

/**
 * What a message is about, without its wording, for which each slice has one table: the setting, option, file or place
 * before the first colon, as in `/f:2:1: maxNode: there is …`. Empty if a message names nothing.
 */
export function subjectOf(message: string): string {
  return /^((?:\S*\d+:\d+: )?(?:(?!: ).)+): /s.exec(message)?.[1] ?? '';
}

/** Returns the subjects of the messages, one after another. */
export const subjectsOf = (messages: readonly string[]): string[] => messages.map(subjectOf);

/** Returns a matcher for the whole message or, with `…` for the wording, for the text before it. */
export function beginning(expected: string): unknown {
  return expected.endsWith('…') ? expect.stringMatching(`^${RegExp.escape(expected.slice(0, -1))}`) : expected;
}
