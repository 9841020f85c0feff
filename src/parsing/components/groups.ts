import { endOfQuoted } from './quoted.ts';

/** Where what opens at `at` with a bracket of any kind is closed, behind the last bracket; -1 if it is not. */
export function endOfGroup(text: string, at: number): number {
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    switch (text[i]) {
      case '"':
        i = endOfQuoted(text, i) - 1;
        if (i < 0) return -1;
        break;
      case '(':
      case '[':
      case '{':
        depth++;
        break;
      case ')':
      case ']':
      case '}':
        if (--depth <= 0) return i + 1;
        break;
      default:
    }
  }
  return -1;
}
