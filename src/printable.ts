/** Log text fit for a terminal and for one line: control characters are shown, not sent. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
