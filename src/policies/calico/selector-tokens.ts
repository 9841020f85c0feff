/** A selector that Calico refuses too; the message says where it ends to be one. */
export class SelectorError extends Error {
  override name = 'SelectorError';
}

/** Reads a selector from left to right; space behind a token is passed over. What is not there is a `SelectorError`. */
export function createSelectorTokens(text: string) {
  let at = 0;
  skipSpace();

  return {
    isAtEnd: (): boolean => at === text.length,
    take,
    takeWords,
    expect,
    literal,
    identifier,
    problem,
  };

  function take(token: string): boolean {
    if (!text.startsWith(token, at)) return false;
    // `!=` is an operator after a label, never a negation.
    if (token === '!' && text[at + 1] === '=') return false;
    at += token.length;
    skipSpace();
    return true;
  }

  /** Calico lets the words of an operator touch, as in `startswith`. */
  function takeWords(operator: string): boolean {
    const before = at;
    for (const word of operator.split(' ')) {
      if (take(word)) continue;
      at = before;
      return false;
    }
    return true;
  }

  function expect(token: string): void {
    if (!take(token)) throw problem(`"${token}"`);
  }

  /** There are no escapes: a text with both kinds of quotes cannot be written. */
  function literal(): string {
    const quote = text[at];
    if (quote !== '"' && quote !== "'") throw problem('a text in quotes');
    const end = text.indexOf(quote, at + 1);
    if (end < 0) throw problem('the end of the text in quotes');
    const value = text.slice(at + 1, end);
    at = end + 1;
    skipSpace();
    return value;
  }

  function identifier(): string {
    const label = /[a-zA-Z0-9_./-]{1,513}/y;
    label.lastIndex = at;
    const found = label.exec(text)?.[0];
    if (found === undefined || found.length > 512) throw problem('the name of a label');
    at += found.length;
    skipSpace();
    return found;
  }

  function skipSpace(): void {
    while (text[at] === ' ' || text[at] === '\t') at += 1;
  }

  function problem(wanted: string): SelectorError {
    const found = at < text.length ? JSON.stringify(text.slice(at, at + 20)) : 'its end';
    return new SelectorError(`at character ${at + 1}: ${found} stands where ${wanted} was expected`);
  }
}
