/** Turns UTF-16, which Windows PowerShell writes with `>`, into UTF-8. */
import { TextDecoder } from 'node:util';

type Encoding = 'utf-16le' | 'utf-16be';

/** How many characters show the encoding of a text without a byte order mark. */
const shown = 16;

/** Other text goes through as it is. A block is valid until the next one is asked for. */
export async function* asUtf8(blocks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let decoder: TextDecoder | undefined;
  let isFirst = true;
  for await (const block of blocks) {
    const encoding = isFirst ? encodingOf(block) : undefined;
    if (encoding !== undefined) decoder = new TextDecoder(encoding);
    isFirst = false;
    yield decoder === undefined ? block : Buffer.from(decoder.decode(block, { stream: true }), 'utf8');
  }
  const remaining = decoder?.decode() ?? '';
  if (remaining !== '') yield Buffer.from(remaining, 'utf8');
}

/** Characters of ASCII have a zero as their first or second byte. */
function encodingOf(block: Buffer): Encoding | undefined {
  if (block[0] === 0xff && block[1] === 0xfe) return 'utf-16le';
  if (block[0] === 0xfe && block[1] === 0xff) return 'utf-16be';
  const head = block.subarray(0, 2 * shown);
  if (head.length < 2 * shown) return undefined;
  const isZero = (side: 0 | 1): boolean => head.every((byte, i) => (i % 2 === side) === (byte === 0));
  return isZero(1) ? 'utf-16le' : isZero(0) ? 'utf-16be' : undefined;
}
