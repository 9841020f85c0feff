/** Escapes control characters, invisible ones, line separators and lone surrogates, so that the text is one line of a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    if (code.length > 4) return `\\u{${code}}`;
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** Escapes the same characters in JSON, except line feeds, and keeps its value. */
export function printableJson(json: string): string {
  return json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Removes mentions and links of chat programs (Slack: `<!channel>`, `<https://…|text>`, URLs). Keeps `>`, because commands contain it. */
export function withoutMarkup(text: string): string {
  return text.replaceAll('<', '‹').replaceAll('://', '[:]//');
}

/** Cuts a text to `max` bytes of UTF-8, never inside a character, and marks the cut. */
export function cutBytes(text: string, max: number): string {
  if (text.length * 3 <= max || Buffer.byteLength(text) <= max) return text;
  const mark = '…';
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max - Buffer.byteLength(mark)));
  return text.slice(0, read) + mark;
}
