/** Reads a list from the API server object by object, so that memory holds one of them and not the whole answer. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Json, parsed } from '../platform/json.ts';
import { largeAnswer, TooLargeError, turnOfLarge, wholeText } from './http.ts';

/** Called for each object of a list, with the length of its text. Returns how much work it was, beside a usual one; may throw. */
export type TakeItem = (item: Json, length: number) => number | void;

/** The largest object in bytes: etcd takes 1.5 MiB, and JSON may need six bytes for one. */
export const largestItem = 10 * 1024 * 1024;

/** The largest single object that is asked for, or part of a list besides its objects. */
const largestFrame = 4 * 1024 * 1024;

/** The largest list in bytes: more than all Pods of the largest clusters. */
const largestList = 512 * 1024 * 1024;

/** The most bytes of objects that are collected, for whoever needs a short list at once. */
const largestCollection = 16 * 1024 * 1024;

/** Past so many bytes of objects, other work gets its turn. */
const bytesOfTurn = 256 * 1024;

/** What a small object takes besides its bytes. */
const bytesOfItem = 2048;

const bytes = {
  quote: 34,
  comma: 44,
  escape: 92,
  openList: 91,
  closeList: 93,
  openObject: 123,
  closeObject: 125,
} as const;

/**
 * Resolves to the text of the answer without its objects. Without an object that is taken, if `isList` says of what stands before the first
 * that this is no list. Throws a `TooLargeError`, and what the body and `take` throw.
 */
export async function readItems(body: Readable, take: TakeItem, isList: (head: Json) => boolean): Promise<string> {
  const scanner = createItemScanner();
  let [size, sinceTurn] = [0, 0];
  let isTaken: boolean | undefined;
  let endTurn: (() => void) | undefined;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > largestList) throw new TooLargeError(`the list is larger than ${largestList} bytes`);
      for (const item of scanner.push(chunk)) {
        isTaken ??= isList(parsed(`${scanner.frame()}]}`));
        if (!isTaken) continue;
        const work = take(JSON.parse(item), item.length) ?? 1;
        sinceTurn += item.length + bytesOfItem * Math.max(1, work);
        if (sinceTurn < bytesOfTurn) continue;
        sinceTurn = 0;
        await nextTurn();
      }
      if (scanner.pending > largeAnswer) endTurn ??= await turnOfLarge(body);
      else {
        endTurn?.();
        endTurn = undefined;
      }
    }
    return scanner.frame();
  } finally {
    endTurn?.();
  }
}

/** For lists that are needed at once. `addTo` gives the answer its objects. */
export function collectItems(): { take: TakeItem; addTo: <T extends { kind: string; body?: Json }>(answer: T) => T } {
  const items: Json[] = [];
  let size = 0;
  return {
    take(item, length) {
      size += length;
      if (size > largestCollection) throw new TooLargeError(`the list is larger than ${largestCollection} bytes`);
      items.push(item);
    },
    addTo(answer) {
      if (items.length > 0) Object.assign(answer.body as object, { items });
      return answer;
    },
  };
}

interface ItemScanner {
  /** Gives the text of each object that ends in this chunk. */
  push: (chunk: Buffer) => Iterable<string>;
  /** The bytes of the object that has not ended yet. */
  readonly pending: number;
  /** Everything that is no object of the list. */
  frame: () => string;
}

/** Finds the objects in the field `items` of an object. */
function createItemScanner(): ItemScanner {
  const frame = createText(largestFrame, 'the answer has too much besides its objects');
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
