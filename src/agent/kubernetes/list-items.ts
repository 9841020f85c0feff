/** Reads a list from the API server object by object, so that memory holds one of them and not the whole answer. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Json, parsed } from '../../base/platform/json.ts';
import { largeAnswer, turnOfLarge } from './http.ts';
import { createItemScanner, TooLargeError } from './item-scanner.ts';

/** Called for each object of a list, with the length of its text. Returns how much work it was, beside a usual one; may throw. */
export type TakeItem = (item: Json, length: number) => number | void;

/** The largest list in bytes: more than all Pods of the largest clusters. */
const largestList = 512 * 1024 * 1024;

/** The most bytes of objects that are collected for a caller that needs a short list at once. */
const largestCollection = 16 * 1024 * 1024;

/** After this many bytes of objects, other work gets its turn. */
const bytesOfTurn = 256 * 1024;

/** The memory of a small object besides its bytes. */
const bytesOfItem = 2048;

/**
 * Resolves to the text of the answer without its objects. Takes no object if `isList` refuses the text before the first one. Throws a
 * `TooLargeError`, or the error of the body or of `take`.
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
