import { cut } from './limits.ts';

const quote = 0x22;
const backslash = 0x5c;

/** Where a quoted string ends, behind its closing quote; -1 if it does not. `at` is its opening quote. */
export function endOfQuoted(text: string, at: number): number {
  for (let i = at + 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === backslash) i++;
    else if (code === quote) return i + 1;
  }
  return -1;
}

/** `\U0010ffff`, the longest escape. */
const longestEscape = 10;
const escapes = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3})|([^]))/g;
const letters: Readonly<Record<string, string>> = { a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** Decodes escapes of Go (strconv.Quote) and JSON, which agree; `\xff` is no UTF-8, what is no escape stands for itself. */
export function decodeQuoted(inner: string, limit: number): string {
  if (!inner.includes('\\')) return cut(inner, limit);
  const decoded = inner
    .slice(0, limit * longestEscape)
    .replace(escapes, (_, byte?: string, unit?: string, rune?: string, octal?: string, other = '') => {
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
      if (rune !== undefined) return ofRune(Number.parseInt(rune, 16));
      if (byte !== undefined) return ofByte(Number.parseInt(byte, 16));
      if (octal !== undefined) return ofByte(Number.parseInt(octal, 8));
      return letters[other] ?? other;
    });
  return cut(decoded, limit).toWellFormed();
}

function ofByte(byte: number): string {
  return byte < 0x80 ? String.fromCharCode(byte) : '\uFFFD';
}

function ofRune(rune: number): string {
  return rune <= 0x10ffff ? String.fromCodePoint(rune) : '\uFFFD';
}
