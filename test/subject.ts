import { expect } from 'vitest';

/**
 * What a message is about, its wording left out, which one table of each slice has: the setting, option, file or place that stands before the
 * first colon, as in `/f:2:1: maxNode: there is …`. Empty where a message names nothing.
 */
export function subjectOf(message: string): string {
  return /^((?:\S*\d+:\d+: )?(?:(?!: ).)+): /s.exec(message)?.[1] ?? '';
}

/** Returns the subjects of the messages, one after another. */
export const subjectsOf = (messages: readonly string[]): string[] => messages.map(subjectOf);

/** Returns a matcher for a message: all of it, or what stands before `…`, which stands for wording. */
export function beginning(expected: string): unknown {
  return expected.endsWith('…') ? expect.stringMatching(`^${RegExp.escape(expected.slice(0, -1))}`) : expected;
}
