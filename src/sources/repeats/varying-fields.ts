/**
 * Fields of netfilter's LOG lines (Linux net/netfilter/nf_log_syslog.c) that differ from packet to packet of one flow, and
 * say nothing of whom it is from or what becomes of it. Of the source port that holds for a client's only.
 */
const keys = ['LEN=', 'TTL=', 'SPT=', 'SEQ=', 'ACK=', 'ID=', 'WINDOW=', 'FLOWLBL=', 'HOPLIMIT='].map((key) =>
  Buffer.from(key),
);

const space = 32;
const dot = 46;
const closingBracket = 93;

const length = fiveBytes(' LEN=');
const destinationPort = fiveBytes(' DPT=');

const byInitial = Array.from({ length: 256 }, (_, initial) => {
  const found = keys.filter((key) => key[0] === initial);
  return found.length > 0 ? found : undefined;
});

/** Length of the key of a varying field that begins at `at`, with its `=`; 0 where none does. */
export function varyingKey(bytes: Uint8Array, at: number, end: number): number {
  const candidates = byInitial[bytes[at] as number];
  if (candidates === undefined) return 0;
  for (const key of candidates) if (at + key.length <= end && standsAt(bytes, at, key)) return key.length;
  return 0;
}

/** The range of a key that is known to be a varying field's. */
export function isSourcePort(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x53 && bytes[at + 1] === 0x50;
}

/** Hashes what stands before the first field that varies in every header, and the port: cheap, not exact. `view`: of `bytes`. */
export function hashOfFlow(bytes: Uint8Array, view: DataView, from: number, end: number): number {
  const stop = indexOf(bytes, length, from, end);
  if (stop < from + 4) return 0;
  let hash = view.getInt32(stop - 4);
  for (let at = from; at < stop - 4; at += 4) hash = Math.imul(hash ^ view.getInt32(at), 0x9e3779b1);
  const port = indexOf(bytes, destinationPort, stop, end - 4);
  if (port > 0) hash = Math.imul(hash ^ view.getInt32(port + 5), 0x9e3779b1);
  // The places are picked by the low bits, in which a product has nothing of the high ones.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

/** Five different bytes, and how far behind each of them the last one stands. */
function fiveBytes(content: string) {
  const text = Buffer.from(content);
  const shifts = new Uint8Array(256).fill(5);
  for (const [index, byte] of text.entries()) shifts[byte] = 4 - index;
  return { text, shifts };
}

/** Searches by the shifts of Boyer, Moore and Horspool; -1: not found. */
function indexOf(bytes: Uint8Array, { text, shifts }: ReturnType<typeof fiveBytes>, from: number, end: number): number {
  for (let at = from + 4; at < end;) {
    const shift = shifts[bytes[at] as number] as number;
    if (shift > 0) at += shift;
    else if (standsAt(bytes, at - 4, text)) return at - 4;
    else at += 5;
  }
  return -1;
}

export function digitsEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && isDigit(bytes[at] as number)) at++;
  return at;
}

/** Before the `]` of `[    5.123456]`, of which `[` stands before `from`; -1 where no uptime of the kernel's stands. */
export function uptimeEnd(bytes: Uint8Array, from: number, end: number): number {
  let start = from;
  while (start < from + 16 && bytes[start] === space) start++;
  const dotAt = digitsEnd(bytes, start, Math.min(start + 10, end));
  if (dotAt === start || bytes[dotAt] !== dot) return -1;
  const stop = digitsEnd(bytes, dotAt + 1, Math.min(dotAt + 10, end));
  return stop > dotAt + 1 && stop < end && bytes[stop] === closingBracket ? stop : -1;
}

function standsAt(bytes: Uint8Array, at: number, key: Uint8Array): boolean {
  for (let i = 0; i < key.length; i++) if (bytes[at + i] !== key[i]) return false;
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}
