import type { Fields } from './fields.ts';
import { endOfGroup } from './groups.ts';
import { errorLimit } from './limits.ts';
import { decodeQuoted, endOfQuoted } from './quoted.ts';

const keyAt = / [A-Za-z_][\w./-]{0,127}=/y;
/** As `%#v` prints a value: `[]string{"", ""}`, `map[string]int{…}`, `proto.Key{…}`, `Key(node=a; name=b)`. */
const groupAt = /[&*]?[\w.*[\]]{0,128}(?=[{(])/y;

export interface LogrusText {
  readMessage: () => string;
  readFields: (fields: Pick<Fields, 'add'>) => void;
}

/** A message, then ` key=value` by key (Calico lib/logrusr/formatter.go): strings quoted, errors bare, else `%#v`. Linear. */
export function createLogrusText(text: string, from: number): LogrusText {
  let at = from;
  /** No further quote is closed: what looks like one is a character like others. */
  let quotesEnd = text.length;
  let groupsClose = true;

  return {
    readMessage() {
      at = endOfMessage();
      return text.slice(from, at).trimEnd();
    },
    readFields(fields) {
      for (let end = keyEnd(at); end > 0; end = keyEnd(at)) {
        const key = text.slice(at + 1, end - 1);
        at = end;
        fields.add(key, takeValue());
      }
    },
  };

  /** A key in brackets is none: `HostBGPConfig(node=node-a; name=ip_addr_v4)`. */
  function endOfMessage(): number {
    let depth = 0;
    for (let i = from; i < text.length; i++) {
      const char = text[i];
      if (char === '"') i = skipQuoted(i) - 1;
      else if (char === '(') depth++;
      else if (char === ')') depth = Math.max(0, depth - 1);
      // `established = 0`
      else if (char === ' ' && depth === 0 && keyEnd(i) > 0 && text[keyEnd(i)] !== ' ') return i;
    }
    return text.length;
  }

  function takeValue(): string {
    const begin = at;
    // Go pointers to strings are printed with a star before the quote.
    const quote = text[at] === '*' ? at + 1 : at;
    if (text[quote] === '"') {
      const end = endOfQuoted(text, quote);
      if (end < 0 || end === text.length || text[end] === '\n' || keyEnd(end) > 0) {
        at = end < 0 ? text.length : end;
        return decodeQuoted(text.slice(quote + 1, end < 0 ? undefined : end - 1), errorLimit);
      }
    }
    at = endOfPlain(endOfOpening(at));
    return text.slice(begin, at);
  }

  function endOfOpening(i: number): number {
    groupAt.lastIndex = i;
    const end = groupsClose && groupAt.test(text) ? endOfGroup(text, groupAt.lastIndex) : i;
    // Not looked for again, as each time would go through all of the text.
    groupsClose &&= end >= 0;
    return Math.max(i, end);
  }

  function endOfPlain(begin: number): number {
    for (let i = begin; i < text.length; i++) {
      if (text[i] === '"') i = skipQuoted(i) - 1;
      else if (text[i] === ' ' && keyEnd(i) > 0) return i;
    }
    return text.length;
  }

  /** Behind the string that begins here, or behind the quote if there is none. */
  function skipQuoted(i: number): number {
    const end = i < quotesEnd ? endOfQuoted(text, i) : -1;
    if (end < 0) quotesEnd = Math.min(quotesEnd, i);
    return end < 0 ? i + 1 : end;
  }

  /** Where the value would begin if this is the space before a key; else 0. */
  function keyEnd(i: number): number {
    keyAt.lastIndex = i;
    return keyAt.test(text) ? keyAt.lastIndex : 0;
  }
}
