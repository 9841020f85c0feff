import { closeSync, createReadStream, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { asUtf8 } from './utf16.ts';
import { reasonOf } from '../../../base/platform/system-error.ts';

/** The number of bytes that are read at a time. Larger blocks decode more slowly, because a V8 string past 128 KiB is a large object. */
export const blockSize = 64 * 1024;

/** Reports a saved log that cannot be read completely. `message` names the file and says what to do. */
export class InputError extends Error {
  override name = 'InputError';
}

export interface Input {
  name: string;
  /** When the file was last written, in milliseconds since 1970; undefined for pipes. */
  modified: number | undefined;
  /** Hands over unpacked content. A block is valid only during the call. Rejects with an `InputError`, perhaps after some blocks. */
  read: (onBlock: (block: Buffer) => void) => Promise<void>;
}

const magic = {
  gzip: Buffer.from([0x1f, 0x8b]),
  zstd: Buffer.from([0x28, 0xb5, 0x2f, 0xfd]),
};

/** The last three bytes of the magic number of a Zstandard frame to skip; the first one is 0x50 to 0x5f. */
const skippable = Buffer.from([0x2a, 0x4d, 0x18]);

const unreadable: readonly [Buffer, string][] = [
  [Buffer.from('LPKSHHRH'), 'is a binary journal: export it with `journalctl --file FILE -k -o json`'],
  [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), 'is xz compressed: pipe it in with `xz -dc FILE | … -`'],
  [Buffer.from('BZh'), 'is bzip2 compressed: pipe it in with `bzip2 -dc FILE | … -`'],
  [Buffer.from('PK\x03\x04'), 'is a zip archive: unpack it first'],
  [Buffer.from('\x7fELF'), 'is a program, not a log'],
];
/** The longest of the magic numbers. */
const headLength = 8;

/** Opens a saved log. Throws an `InputError` if it is missing, is a folder, or has a format that is not text. */
export function openInput(name: string, stdin: () => Readable = () => process.stdin): Input {
  if (name === '-') return streamInput(stdin(), name);
  let fd: number | undefined;
  let stat: Stats;
  const head = Buffer.alloc(headLength);
  try {
    fd = openSync(name, 'r');
    stat = fstatSync(fd);
    if (stat.isDirectory()) throw new InputError(`${name}: is a folder; name the files in it`);
    // A FIFO or a device cannot be read again from its start, so it is read as a stream from this one descriptor.
    if (!stat.isFile()) return streamInput(createReadStream('', { fd, highWaterMark: blockSize }), name);
    readSync(fd, head, 0, head.length, 0);
    refuseForeign(name, head);
  } catch (error) {
    if (fd !== undefined) closeSync(fd);
    throw error instanceof InputError ? error : new InputError(`${name}: ${reasonOf(error)}`, { cause: error });
  }
  const kind = kindOf(head);
  if (kind === undefined) return inputOf(name, stat.mtimeMs, plainBlocks(fd, name));
  closeSync(fd);
  return inputOf(name, stat.mtimeMs, unpacked(kind, createReadStream(name, { highWaterMark: blockSize }), name));
}

function refuseForeign(name: string, head: Buffer): void {
  const foreign = unreadable.find(([bytes]) => head.subarray(0, bytes.length).equals(bytes));
  if (foreign) throw new InputError(`${name}: ${foreign[1].replaceAll('FILE', name)}`);
}

type Kind = keyof typeof magic;

function kindOf(head: Buffer): Kind | undefined {
  if (head.subarray(0, magic.gzip.length).equals(magic.gzip)) return 'gzip';
  return framesIn(head.subarray(0, magic.zstd.length))[0] === 0 ? 'zstd' : undefined;
}

/** Errors of `onBlock` (a closed pipe behind our output) pass through unchanged, because `blocks` does not see them. */
function inputOf(name: string, modified: number | undefined, blocks: AsyncIterable<Buffer>): Input {
  return {
    name,
    modified,
    async read(onBlock) {
      for await (const block of asUtf8(blocks)) onBlock(block);
    },
  };
}

/** Reads synchronously into one buffer, which is several times faster than a stream and makes no garbage. */
// oxlint-disable-next-line typescript/require-await
async function* plainBlocks(fd: number, name: string): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  const buffer = Buffer.allocUnsafeSlow(blockSize);
  const readBlock = (): number => {
    try {
      return readSync(fd, buffer, 0, blockSize, null);
    } catch (error) {
      throw brokenAt(name, bytes, error);
    }
  };
  try {
    for (let count = 0; (count = readBlock()) > 0;) {
      bytes += count;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(fd);
  }
}

async function* unpacked(kind: Kind, packed: Readable, name: string): AsyncGenerator<Buffer, void> {
  const unpacker =
    kind === 'gzip' ? createGunzip({ chunkSize: blockSize }) : createZstdDecompress({ chunkSize: blockSize });
  let given = 0;
  const whole = kind === 'gzip' ? packed : Readable.from(counted(splitFrames(packed)));
  whole.on('error', (error) => unpacker.destroy(error));
  // An error may come after the loop has ended.
  unpacker.on('error', () => {});
  try {
    for await (const block of whole.pipe(unpacker)) yield block as Buffer;
    // Node.js ends without an error if a frame is followed by other data.
    if (kind === 'zstd' && unpacker.bytesWritten < given) throw new Error('something other than a frame follows one');
  } catch (error) {
    throw new InputError(
      `${name}: the ${kind} data is damaged or cut off (${reasonOf(error)}); what came before it was read`,
      { cause: error },
    );
  } finally {
    whole.destroy();
    packed.destroy();
  }

  async function* counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      given += piece.length;
      yield piece;
    }
  }
}

/** Cuts before each frame (pzstd, `cat a.zst b.zst`; RFC 8878, 3.1): Node.js goes on with another only at the beginning of a chunk. */
async function* splitFrames(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let remaining: Buffer = Buffer.alloc(0);
  for await (const chunk of packed) {
    const data = remaining.length === 0 ? chunk : Buffer.concat([remaining, chunk]);
    let start = 0;
    for (const at of framesIn(data)) {
      if (at === 0) continue;
      yield data.subarray(start, at);
      start = at;
    }
    // The first bytes of a frame may be in the next chunk.
    const end = Math.max(start, data.length - magic.zstd.length + 1);
    if (end > start) yield data.subarray(start, end);
    remaining = data.subarray(end);
  }
  if (remaining.length > 0) yield remaining;
}

/** Returns where frames begin, including skippable ones (RFC 8878, 3.1.2), in linear time for any data. */
function framesIn(data: Buffer): number[] {
  const starts: number[] = [];
  for (let at = data.indexOf(magic.zstd); at !== -1; at = data.indexOf(magic.zstd, at + 1)) starts.push(at);
  for (let at = data.indexOf(skippable, 1); at !== -1; at = data.indexOf(skippable, at + 1))
    if (((data[at - 1] ?? 0) & 0xf0) === 0x50) starts.push(at - 1);
  return starts.toSorted((a, b) => a - b);
}

function streamInput(stream: Readable, name: string): Input {
  return inputOf(name, undefined, streamBlocks(stream, name));
}

async function* streamBlocks(stream: Readable, name: string): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  try {
    const chunks = withWholeMagic(stream);
    const first = await chunks.next();
    if (first.done === true) return;
    refuseForeign(name, first.value);
    const kind = kindOf(first.value);
    if (kind !== undefined) yield* unpacked(kind, Readable.from(rejoin(first.value, chunks)), name);
    else
      for (let next: IteratorResult<Buffer, void> = first; next.done !== true; next = await chunks.next()) {
        bytes += next.value.length;
        yield next.value;
      }
  } catch (error) {
    throw error instanceof InputError ? error : brokenAt(name, bytes, error);
  }
}

/** Joins the first chunks, which may be shorter than a magic number. */
async function* withWholeMagic(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let head: Buffer | undefined = Buffer.alloc(0);
  try {
    for await (const chunk of chunks) {
      const block: Buffer = head === undefined ? chunk : Buffer.concat([head, chunk]);
      head = head !== undefined && block.length < headLength ? block : undefined;
      if (head === undefined) yield block;
    }
  } finally {
    // The stream has ended or failed.
    if (head !== undefined && head.length > 0) yield head;
  }
}

async function* rejoin(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function brokenAt(name: string, bytes: number, error: unknown): InputError {
  return new InputError(`${name}: cannot be read past byte ${bytes}: ${reasonOf(error)}`, { cause: error });
}
