/** The tokens of one header: the logged packet's, or those of the packet inside an ICMP error. */
export interface Level {
  tokens: string[];
  /** Always true for the outer level. */
  closed: boolean;
}

/**
 * Takes the bracketed packet of an ICMP error out of the tokens. `INCOMPLETE [8 bytes]` does not open a bracket. The
 * kernel prints the closing bracket after a space, except after `[TRUNCATED] `, `OPT (TRUNCATED)] ` and `)] `, which it
 * writes without one.
 */
export function bracketed(tokens: readonly string[]): { outer: Level; inner: Level | undefined; cutInside: boolean } {
  const outer: Level = { tokens: [], closed: true };
  let inner: Level | undefined;
  let current = outer;
  tokens.forEach((token, at) => {
    if (isByteCount(tokens, at)) return;
    const opens = current === outer && token.startsWith('[') && isIcmp(outer);
    if (opens) current = { tokens: [], closed: false };
    if (opens) inner ??= current;
    const closes = current !== outer && token.endsWith(']');
    const bare = token.slice(opens ? 1 : 0, closes ? -1 : undefined);
    if (bare !== '') current.tokens.push(bare);
    if (closes) current.closed = true;
    if (closes) current = outer;
  });
  return { outer, inner, cutInside: current !== outer };
}

function isIcmp(level: Level): boolean {
  return /^(ICMP|ICMPv6|0*1|0*58)$/.test(firstValues(level).get('PROTO') ?? '');
}

/** Whether this is `[8` or `bytes]` of `INCOMPLETE [8 bytes]`. */
function isByteCount(tokens: readonly string[], at: number): boolean {
  const starts = (index: number): boolean =>
    tokens[index - 1] === 'INCOMPLETE' && /^\[[0-9]+$/.test(tokens[index] ?? '') && tokens[index + 1] === 'bytes]';
  return starts(at) || starts(at - 1);
}

/** `KEY=value` tokens; the first of a key wins. */
export function firstValues(level: Level): Map<string, string> {
  const values = new Map<string, string>();
  for (const token of level.tokens) {
    const [key = '', ...rest] = token.split('=');
    if (rest.length > 0 && !values.has(key)) values.set(key, rest.join('='));
  }
  return values;
}
