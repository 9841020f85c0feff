/** HTML without a way for a text to become markup: every text goes through `text`. */
import { plain, plainMessage } from '../texts/plain.ts';

/** A stranger's or an own text, for the content of an element or a value in quotes. */
export function text(value: string): string {
  return escaped(plain(value));
}

/** The same of an Event's message. */
export function messageText(value: string): string {
  return escaped(plainMessage(value));
}

function escaped(value: string): string {
  return value.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** JSON that neither ends a script nor begins a comment in it. */
export function json(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `12.3k`: fits into a cell. */
export function shortNumber(value: number): string {
  return new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(value).toLowerCase();
}
