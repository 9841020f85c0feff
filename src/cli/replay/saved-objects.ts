/** Reads the objects of `--pods` one by one, because kubectl may have saved gigabytes, and only a small part is kept. */
import type { Readable } from 'node:stream';
import { createItemScanner, TooLargeError } from '../../agent/kubernetes/item-scanner.ts';
import { type Json, parsed } from '../../base/platform/json.ts';
import { InputError, openInput } from '../../read/sources/reading.ts';
import { itemsOf, WhyError } from '../why/known-objects.ts';
import { documentsIn, documentsOfYaml } from '../why/saved-files.ts';
import { createProgress } from './progress.ts';

/** `place` names the file, and the object's place in it: `cluster.json: items[7]`. */
export type TakeObject = (object: Json, place: string) => void;

const byteOrderMark = Buffer.from('\uFEFF');

/** The most bytes that Node.js makes a text of. */
const longestText = 512 * 1024 * 1024 - 24;

export interface SavedObjectsOptions {
  stdin: () => Readable;
  terminal: NodeJS.WriteStream | undefined;
  /** A file up to this size is read whole, because only then its mistakes are named by line. */
  longestWhole?: number;
}

/** Rejects with a `WhyError` if the file is not a list of objects. */
export async function readSavedObjects(
  file: string,
  take: TakeObject,
  { stdin, terminal, longestWhole = 16 * 1024 * 1024 }: SavedObjectsOptions,
): Promise<void> {
  const progress = createProgress(file, terminal);
  let blocks: Buffer[] = [];
  let size = 0;
  let reader: ObjectReader | undefined;
  try {
    await openInput(file, stdin).read((block) => {
      progress.step(block.length);
      // The block is valid only during this call.
      const kept = Buffer.from(size === 0 && block.subarray(0, 3).equals(byteOrderMark) ? block.subarray(3) : block);
      if (reader !== undefined) return reader.write(kept);
      blocks.push(kept);
      size += kept.length;
      if (size <= longestWhole) return;
      const beginning = Buffer.concat(blocks);
      blocks = [];
      reader = readerOf(file, beginning, take);
      reader.write(beginning);
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
    take(object, [...place, ...(path.length > 0 ? [`items[${path.at(-1)}]`] : [])].join(': '));
}

interface ObjectReader {
  write: (block: Buffer) => void;
  end: () => void;
}

function readerOf(file: string, beginning: Buffer, take: TakeObject): ObjectReader {
  if (beginning.includes(0)) throw new WhyError(`${file}: is not UTF-8 text: save it as UTF-8`);
  const [first] = beginning.toString('latin1', 0, 64).trimStart();
  // JSON has no line of dashes, but a document of YAML may be JSON.
  if ((first !== '{' && first !== '[') || beginning.includes('\n---')) return readDocuments(file, take);
  const end = beginning.indexOf('\n');
  const isLines = end >= 0 && parsed(beginning.toString('utf8', 0, end)) !== undefined;
  if (isLines) return readLines(file, take);
  return first === '[' ? readArray(file, take) : readList(file, take);
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

/** Reads what `jq .items` prints: an array of objects, which is read as the `items` of one. */
function readArray(file: string, take: TakeObject): ObjectReader {
  const { write, end } = readList(file, take);
  write(Buffer.from('{"items":'));
  return {
    write,
    end() {
      write(Buffer.from('}'));
      end();
    },
  };
}

/** Reads documents of YAML with `---` between them, one by one. A list in YAML is one document. */
function readDocuments(file: string, take: TakeObject): ObjectReader {
  let [parts, size, number, isOpened]: [Buffer[], number, number, boolean] = [[], 0, 0, false];
  /** The beginning of a line that may be one of dashes. */
  let undecided: Buffer = Buffer.alloc(0);
  let isLineStart = true;
  const add = (part: Buffer): void => {
    parts.push(part);
    size += part.length;
    if (size > longestText) throw new WhyError(`${file}: has more than 512 MB of YAML: save it with -o json`);
  };
  const endDocument = (isLast: boolean): void => {
    const content = Buffer.concat(parts, size).toString('utf8');
    [parts, size] = [[], 0];
    const isEmpty = !/^[ \t]*[^\s#%]/m.test(content);
    // The text before the first dashes may be comments.
    if (isEmpty && !isOpened && !isLast) return;
    const place = isLast && number === 0 ? file : `${file}: document ${number + 1}`;
    number++;
    if (isEmpty && isOpened) return;
    const documents = isOpened || !isLast ? documentsOfYaml(place, content) : documentsIn(place, content);
    for (const document of documents) takeDocument(document, [place], take);
  };
  const takeBytes = (bytes: Buffer): void => {
    let from = 0;
    for (let at = isLineStart && isDashes(bytes, 0) ? 0 : dashesAfter(bytes, 0); at >= 0; at = dashesAfter(bytes, at)) {
      add(bytes.subarray(from, at));
      endDocument(false);
      isOpened = true;
      // A document may begin on the line of the dashes.
      from = at + dashes.length;
    }
    add(bytes.subarray(from));
    isLineStart = bytes.at(-1) === 0x0a || (bytes.length === 0 && isLineStart);
  };
  return {
    write(block) {
      const bytes = Buffer.concat([undecided, block]);
      const line = bytes.lastIndexOf(0x0a) + 1;
      const isUndecided = (line > 0 || isLineStart) && bytes.length - line <= dashes.length;
      const end = isUndecided ? line : bytes.length;
      undecided = bytes.subarray(end);
      takeBytes(bytes.subarray(0, end));
    },
    end() {
      takeBytes(undecided);
      endDocument(true);
    },
  };
}

const dashes = '---';

/** Returns the next line of dashes after a place; -1 without one. */
function dashesAfter(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(`\n${dashes}`, from); at >= 0; at = bytes.indexOf(`\n${dashes}`, at + 1))
    if (isDashes(bytes, at + 1)) return at + 1;
  return -1;
}

function isDashes(bytes: Buffer, at: number): boolean {
  return /^---(?:\s|$)/.test(bytes.toString('latin1', at, at + dashes.length + 1));
}

/** Reads JSON lines, as `jq -c` prints them. */
function readLines(file: string, take: TakeObject): ObjectReader {
  let number = 0;
  let documents = 0;
  /** The first document has no number if there is no other. */
  let first: Json;
  let remaining: Buffer[] = [];
  const takeLine = (line: string): void => {
    number++;
    if (line.trim() === '') return;
    const document = parsed(line);
    if (document === undefined) throw new WhyError(`${file}:${number}: is not JSON`);
    if (++documents === 1) {
      first = document;
      return;
    }
    if (documents === 2) takeDocument(first, [file, 'document 1'], take);
    takeDocument(document, [file, `document ${documents}`], take);
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
    end() {
      takeLine(Buffer.concat(remaining).toString('utf8'));
      if (documents === 1) takeDocument(first, [file], take);
    },
  };
}
