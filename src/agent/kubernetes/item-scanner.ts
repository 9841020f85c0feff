/** Finds the objects of a list in its bytes, so that each can be read by itself. */

export class TooLargeError extends Error {
  override name = 'TooLargeError';
}

/** The largest object in bytes: etcd takes 1.5 MiB, and JSON may need six bytes for one. */
export const largestItem = 10 * 1024 * 1024;

/** The largest single object that is asked for, or part of a list besides its objects. */
const largestFrame = 4 * 1024 * 1024;

const bytes = {
  quote: 34,
  comma: 44,
  escape: 92,
  openList: 91,
  closeList: 93,
  openObject: 123,
  closeObject: 125,
} as const;

export interface ItemScanner {
  /** Gives the text of each object that ends in this chunk. */
  push: (chunk: Buffer) => Iterable<string>;
  /** The bytes of the object that has not ended yet. */
  readonly pending: number;
  /** Everything except the objects of the list. */
  frame: () => string;
}

/** Finds the objects in the field `items` of an object. It throws a `TooLargeError`. `besides`: the most bytes of the rest. */
export function createItemScanner(besides = largestFrame): ItemScanner {
  const frame = createText(besides, 'the answer has too much besides its objects');
  const item = createText(largestItem, `an object is larger than ${largestItem} bytes`);
  const key = createText(Infinity, '');
  let [depth, isText, isEscaped, isList] = [0, false, false, false];

  return {
    *push(chunk) {
      let from = 0;
      for (let at = 0; at < chunk.length; at++) {
        if (isText) {
          at = endOfText(chunk, at);
          continue;
        }
        const byte = chunk[at];
        if (byte === bytes.quote) {
          isText = true;
          if (depth === 1) key.clear();
        } else if (byte === bytes.openObject || byte === bytes.openList) {
          depth++;
          if (depth === 2 && byte === bytes.openList && key.text() === 'items') {
            frame.add(chunk.subarray(from, at + 1));
            from = at + 1;
            isList = true;
          }
        } else if (byte === bytes.closeObject || byte === bytes.closeList) {
          depth--;
          if (isList && depth === 1) {
            isList = false;
            yield* ended(chunk.subarray(from, at));
            from = at;
          }
        } else if (byte === bytes.comma && isList && depth === 2) {
          yield* ended(chunk.subarray(from, at));
          from = at + 1;
        }
      }
      (isList ? item : frame).add(chunk.subarray(from));
    },
    get pending(): number {
      return item.size;
    },
    frame: () => frame.text(),
  };

  function* ended(last: Buffer): Iterable<string> {
    item.add(last);
    const text = item.text();
    item.clear();
    if (text.trim() !== '') yield text;
  }

  /** Returns the place of the quote that ends the text, or the end of the chunk. */
  function endOfText(chunk: Buffer, start: number): number {
    let from = start + (isEscaped ? 1 : 0);
    for (;;) {
      const found = chunk.indexOf(bytes.quote, from);
      const end = found < 0 ? chunk.length : found;
      let escapes = 0;
      while (end - escapes > from && chunk[end - escapes - 1] === bytes.escape) escapes++;
      isEscaped = escapes % 2 === 1;
      isText = found < 0 || isEscaped;
      if (found < 0 || !isText) {
        if (depth === 1) key.add(chunk.subarray(start, Math.min(end, start + keyLength)));
        return end;
      }
      isEscaped = false;
      from = found + 1;
    }
  }
}

/** As much of a key as must be compared. */
const keyLength = 8;

interface Text {
  readonly size: number;
  add: (part: Buffer) => void;
  text: () => string;
  clear: () => void;
}

function createText(largest: number, problem: string): Text {
  let parts: Buffer[] = [];
  let size = 0;
  return {
    get size(): number {
      return size;
    },
    add(part) {
      size += part.length;
      if (size > largest) throw new TooLargeError(problem);
      if (part.length > 0) parts.push(part);
    },
    text: () => wholeText(parts, size),
    clear() {
      parts = [];
      size = 0;
    },
  };
}

/** Each object or list takes at least three bytes of text (`{},`), but 60 in memory. One object of etcd (1.5 MiB) never has as many. */
const mostParts = 800_000;

/** Throws a `TooLargeError`. */
export function wholeText(parts: readonly Buffer[], size: number): string {
  const whole = Buffer.concat(parts, size);
  if (size > 2 * mostParts && partsIn(whole) > mostParts)
    throw new TooLargeError(`the answer has more than ${mostParts} objects and lists`);
  return whole.toString();
}

const [quote, escape, bracket, brace] = [34, 92, 91, 123];

function partsIn(json: Buffer): number {
  let [count, isText] = [0, false];
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) isText = !isText;
    else if (isText && byte === escape) at++;
    else if (!isText && (byte === brace || byte === bracket)) count++;
  }
  return count;
}
