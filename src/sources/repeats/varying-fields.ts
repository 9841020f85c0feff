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

/** Of a key that is known to be a varying field's. */
export function isSourcePort(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x53 && bytes[at + 1] === 0x50;
}

/** Of all bytes but the digits of varying fields. */
export function hashOfFlow(bytes: Uint8Array, from: number, end: number): number {
  let hash = 0;
  for (let at = from; at < end;) {
    const byte = bytes[at++] as number;
    hash = (Math.imul(hash, 31) + byte) | 0;
    if (byte !== space) continue;
    const key = varyingKey(bytes, at, end);
    if (key > 0) at = digitsEnd(bytes, at + key, end);
  }
  return hash ^ (hash >>> 15);
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
  for (let i = 1; i < key.length; i++) if (bytes[at + i] !== key[i]) return false;
  return true;
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}
