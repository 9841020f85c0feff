import { isErrorKey, type Fields } from './fields.ts';
import { endOfGroup } from './groups.ts';
import { errorLimit } from './limits.ts';
import { decodeQuoted, endOfQuoted } from './quoted.ts';

const keyAt = /\s{0,64}([^\s="<>{}]{1,128})=/y;
/** ` >` at the beginning of a line closes a value of several lines. */
const closing = /\n ?>(?=[ \n]|$)/g;
/** Where line breaks have become spaces, or the value has lost its `<`, it may stand elsewhere. */
const closingAnywhere = /\n ?>(?=[ \n]|$)|[ \t]>(?= [\w.-]{1,64}=)/g;
const space = /\s/g;

interface Value {
  value: string;
  end: number;
}

/**
 * ` key=value` of klog (internal/serialize/keyvalues.go): quoted by Go's rules, JSON, or of several lines from `<` on a tab each,
 * up to ` >`; log viewers make four spaces of the tab and lose the `<`. Linear. Returns where what is no such pair began.
 */
export function readKlogValues(text: string, from: number, fields: Fields): number {
  let at = from;
  for (;;) {
    keyAt.lastIndex = at;
    const key = keyAt.exec(text)?.[1];
    if (key === undefined) return at;
    const { value, end } = readValue(text, keyAt.lastIndex, key);
    fields.add(key, value);
    at = end;
  }
}

function readValue(text: string, at: number, key: string): Value {
  const first = text[at];
  const opens = first === '<' ? at + 1 : at;
  if (opens === text.length || text[opens] === '\n') return readBlock(text, opens + 1, closing);
  if (first === '"') {
    const end = endOfQuoted(text, at);
    return {
      value: decodeQuoted(text.slice(at + 1, end < 0 ? undefined : end - 1), errorLimit),
      end: endOr(text, end),
    };
  }
  // Errors are quoted, or of several lines: this one has been damaged on its way.
  if (isErrorKey(key)) {
    const { value, end } = readBlock(text, at, closingAnywhere);
    return { value: value.replace(/^[‹<“]\s{0,8}/, ''), end };
  }
  const end = first === '{' || first === '[' ? endOr(text, endOfGroup(text, at)) : before(space, text, at);
  return { value: text.slice(at, end), end };
}

/** Lines up to the closing one, their indentation taken off. */
function readBlock(text: string, at: number, close: RegExp): Value {
  close.lastIndex = Math.max(0, at - 1);
  const found = close.exec(text);
  const block = text.slice(at, Math.min(found?.index ?? text.length, at + 2 * errorLimit));
  return { value: unindent(block), end: found === null ? text.length : close.lastIndex };
}

/** Each line without the tab, or the four or eight spaces, that the first line has. */
export function unindent(block: string): string {
  const indentation = /^(?:\t| {8}| {4})/.exec(block)?.[0] ?? '';
  if (indentation === '') return block;
  return block
    .split('\n')
    .map((line) => (line.startsWith(indentation) ? line.slice(indentation.length) : line.trimStart()))
    .join('\n');
}

function before(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.exec(text)?.index ?? text.length;
}

function endOr(text: string, end: number): number {
  return end < 0 ? text.length : end;
}
