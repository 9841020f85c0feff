/** Reads the objects of `--pods` one by one, because kubectl may have saved gigabytes, of which little is kept. */
import type { Readable } from 'node:stream';
import { createItemScanner, TooLargeError } from '../../agent/kubernetes/item-scanner.ts';
import { type Json, parsed } from '../../base/platform/json.ts';
import { InputError, openInput } from '../../read/sources/reading.ts';
import { itemsOf, WhyError } from '../why/known-objects.ts';
import { documentsIn } from '../why/saved-files.ts';
import { createProgress } from './progress.ts';

/** `place` names the file, and what of it the object is: `cluster.json: items[7]`. */
export type TakeObject = (object: Json, place: string) => void;

const byteOrderMark = Buffer.from('\uFEFF');

/** What Node.js makes a text of at most. */
const longestText = 512 * 1024 * 1024 - 24;

export interface SavedObjectsOptions {
  stdin: () => Readable;
  terminal: NodeJS.WriteStream | undefined;
  /** Up to so many bytes, a file is read whole: only then it may be YAML, and what is wrong with it is named by line. */
  longestWhole?: number;
}

/** Rejects with a `WhyError` if the file is no list of objects. */
export async function readSavedObjects(
  file: string,
  take: TakeObject,
  { stdin, terminal, longestWhole = 16 * 1024 * 1024 }: SavedObjectsOptions,
): Promise<void> {
  const progress = createProgress(file, terminal);
  let blocks: Buffer[] = [];
  let size = 0;
  let reader: ObjectReader | undefined;
  let isWhole = false;
  try {
    await openInput(file, stdin).read((block) => {
      progress.step(block.length);
      // The block is valid only during this call.
      const kept = Buffer.from(size === 0 && block.subarray(0, 3).equals(byteOrderMark) ? block.subarray(3) : block);
      if (reader !== undefined) return reader.write(kept);
      blocks.push(kept);
      size += kept.length;
      if (size > longestText) throw new WhyError(`${file}: has more than 512 MB of YAML: save it with -o json`);
      if (size <= longestWhole || isWhole) return;
      const beginning = Buffer.concat(blocks);
      reader = readerOf(file, beginning, take);
      isWhole = reader === undefined;
      blocks = isWhole ? [beginning] : [];
      reader?.write(beginning);
    });
    if (reader !== undefined) reader.end();
    else takeWhole(file, Buffer.concat(blocks).toString('utf8'), take);
  } catch (error) {
    if (error instanceof TooLargeError) throw new WhyError(`${file}: ${error.message}`, { cause: error });
    throw error instanceof InputError ? new WhyError(error.message, { cause: error }) : error;
  } finally {
    progress.done();
  }
}

function takeWhole(file: string, content: string, take: TakeObject): void {
  const documents = documentsIn(file, content);
  for (const [index, document] of documents.entries())
    takeDocument(document, [file, ...(documents.length > 1 ? [`document ${index + 1}`] : [])], take);
}

function takeDocument(document: Json, place: readonly string[], take: TakeObject): void {
  for (const { object, path } of itemsOf(document))
    take(object, [...place, ...(path.length > 0 ? [`items[${path[1]}]`] : [])].join(': '));
}

interface ObjectReader {
  write: (block: Buffer) => void;
  end: () => void;
}

/** Returns undefined for YAML, and what else can only be read whole. */
function readerOf(file: string, beginning: Buffer, take: TakeObject): ObjectReader | undefined {
  if (beginning.includes(0)) throw new WhyError(`${file}: is no text in UTF-8: save it as UTF-8`);
  if (!beginning.toString('latin1', 0, 64).trimStart().startsWith('{')) return undefined;
  const end = beginning.indexOf('\n');
  const isLines = end >= 0 && parsed(beginning.toString('utf8', 0, end)) !== undefined;
  return isLines ? readLines(file, take) : readList(file, take);
}

/** Reads what `kubectl get -o json` prints: one object with `items`. */
function readList(file: string, take: TakeObject): ObjectReader {
  const scanner = createItemScanner(longestText);
  let count = 0;
  let head: object | undefined;
  return {
    write(block) {
      for (const text of scanner.push(block)) {
        head ??= parsed(`${scanner.frame()}]}`) ?? {};
        const place = `${file}: items[${count++}]`;
        const item = parsed(text);
        if (item === undefined) throw new WhyError(`${place}: is not JSON`);
        for (const { object } of itemsOf({ ...head, items: [item] })) take(object, place);
      }
    },
    end() {
      const frame = scanner.frame();
      if (parsed(frame) === undefined)
        throw new WhyError(`${file}: is not one JSON text, or it is cut off: ${count} objects were read`);
      if (count === 0) takeDocument(parsed(frame), [file], take);
    },
  };
}

/** Reads JSON lines, as `jq -c` prints them. */
function readLines(file: string, take: TakeObject): ObjectReader {
  let number = 0;
  let remaining: Buffer[] = [];
  const takeLine = (line: string): void => {
    number++;
    if (line.trim() === '') return;
    const document = parsed(line);
    if (document === undefined) throw new WhyError(`${file}:${number}: is not JSON`);
    takeDocument(document, [file, `document ${number}`], take);
  };
  return {
    write(block) {
      let from = 0;
      for (let end = block.indexOf(0x0a); end >= 0; end = block.indexOf(0x0a, from)) {
        takeLine(Buffer.concat([...remaining, block.subarray(from, end)]).toString('utf8'));
        remaining = [];
        from = end + 1;
      }
      if (from < block.length) remaining.push(block.subarray(from));
    },
    end: () => takeLine(Buffer.concat(remaining).toString('utf8')),
  };
}
