/**
 * Reads the output of `journalctl --output=export` (systemd.journal-fields and JOURNAL_EXPORT_FORMATS in systemd's documentation). Each
 * field of a record is a line `NAME=value`, and an empty line ends the record. A value that is not printable UTF-8 has another form:
 * `NAME`, a newline, its length in eight bytes, the value, a newline. This format costs journalctl half as much as its JSON, and escapes
 * nothing.
 */

export type JournalFields = { readonly [name: string]: string };

/** Where the next line or field starts. `left`: how many bytes of the value have not arrived yet. */
type FieldEnd = { at: number; isEmpty: boolean } | { left: number };

const newline = 10;
const equals = 61;
const lengthBytes = 8;

/** Longer records are skipped (bytes). A record of the kernel has at most 8 KiB. */
const longestRecord = 1024 * 1024;

/** Returns the end of the field that begins at `start`; undefined if it has not arrived yet. */
function endOfField(block: Buffer, start: number): FieldEnd | undefined {
  const nameEnd = endOfName(block, start);
  if (nameEnd === block.length) return undefined;
  if (nameEnd === start || block[nameEnd] !== newline) {
    const end = block.indexOf(newline, nameEnd);
    return end < 0 ? undefined : { at: end + 1, isEmpty: end === start };
  }
  const value = nameEnd + 1 + lengthBytes;
  if (value > block.length) return undefined;
  const at = value + Number(block.readBigUInt64LE(nameEnd + 1)) + 1;
  return at > block.length ? { left: at - block.length } : { at, isEmpty: false };
}

/** Frequent field names. Comparing bytes with these is several times faster than making a string. */
const names = [
  'MESSAGE',
  '__CURSOR',
  '__REALTIME_TIMESTAMP',
  '__MONOTONIC_TIMESTAMP',
  '_SOURCE_MONOTONIC_TIMESTAMP',
  '_STREAM_ID',
  '_LINE_BREAK',
  '_TRANSPORT',
  'SYSLOG_FACILITY',
  'SYSLOG_IDENTIFIER',
  '_HOSTNAME',
  '_SYSTEMD_UNIT',
];
/** journalctl prints these fields with every record, even if they were not asked for. */
const unused = ['__SEQNUM', '__SEQNUM_ID', '_BOOT_ID'];

const known: { name: string; bytes: Buffer; isUnused: boolean }[][] = [];
for (const name of [...names, ...unused])
  (known[name.length] ??= []).push({ name, bytes: Buffer.from(name, 'latin1'), isUnused: unused.includes(name) });

/** Reads a whole record, from `start` to `end`, which is after its empty line. */
export function readFields(block: Buffer, start: number, end: number): JournalFields {
  const fields: { [name: string]: string } = {};
  for (let at = start; at < end - 1;) {
    const nameEnd = endOfName(block, at);
    const field = endOfField(block, at);
    if (field === undefined || 'left' in field) break;
    const isText = block[nameEnd] === equals;
    // A malformed field is kept under an empty name, so that a report can show it.
    const hasName = nameEnd > at && (isText || block[nameEnd] === newline);
    const value = hasName ? nameEnd + 1 + (isText ? 0 : lengthBytes) : at;
    const found = hasName ? known[nameEnd - at]?.find(({ bytes }) => standsAt(block, bytes, at)) : undefined;
    const name = found?.name ?? block.toString('latin1', at, hasName ? nameEnd : at);
    if (found?.isUnused !== true) fields[name] ??= block.toString('latin1', value, field.at - 1);
    at = field.at;
  }
  return fields;
}

function standsAt(block: Buffer, bytes: Buffer, at: number): boolean {
  for (let i = bytes.length - 1; i >= 0; i--) if (block[at + i] !== bytes[i]) return false;
  return true;
}

function endOfName(block: Buffer, start: number): number {
  let at = start;
  for (; at < block.length; at++) {
    const byte = block[at] as number;
    const isPart = (byte >= 65 && byte <= 90) || byte === 95 || (byte >= 48 && byte <= 57);
    if (!isPart) break;
  }
  return at;
}

interface RecordBlocksOptions {
  /** Takes whole records. `ends`: where each one ends, and the next one begins. The block is valid only during the call. */
  take: (block: Buffer, ends: readonly number[]) => void;
  tooLong: (bytes: number) => void;
}

const empty = Buffer.alloc(0);
/** How many bytes of a skipped line are kept to find its end: more than the longest name of a field. */
const keptOfLine = 256;

export interface RecordBlocks {
  write: (chunk: Buffer) => void;
  reset: () => void;
}

/** Cuts chunks of any size after the last whole record, and holds at most one unfinished record. */
export function createRecordBlocks({ take, tooLong }: RecordBlocksOptions): RecordBlocks {
  let held: Buffer = empty;
  /** The bytes so far of a record that is too long; 0 without one. */
  let skipped = 0;
  /** The bytes of a value that are still to come. */
  let left = 0;

  return {
    write(this: void, chunk: Buffer): void {
      const passed = Math.min(left, chunk.length);
      left -= passed;
      skipped += passed;
      if (passed < chunk.length) cut(held.length === 0 ? chunk.subarray(passed) : Buffer.concat([held, chunk]));
    },
    reset,
  };

  function cut(data: Buffer): void {
    let ends: number[] = [];
    /** Where the records in `ends` begin (`first`), where the unfinished record begins (`start`), and its unfinished field (`at`). */
    let [first, start, at] = [0, 0, 0];
    let field = endOfField(data, at);
    for (; field !== undefined && 'at' in field; field = endOfField(data, at)) {
      at = field.at;
      if (!field.isEmpty) continue;
      if (skipped > 0 || at - start > longestRecord) {
        handOver(data.subarray(first, start), ends);
        tooLong(skipped + at - start);
        [ends, first, skipped] = [[], at, 0];
      } else ends.push(at - first);
      start = at;
    }
    handOver(data.subarray(first, start), ends);
    held = empty;
    if (skipped > 0 || data.length - start > longestRecord) skip(data, start, at, field?.left ?? 0);
    else if (start < data.length) held = Buffer.from(data.subarray(start));
  }

  function handOver(block: Buffer, ends: readonly number[]): void {
    if (ends.length > 0) take(block, ends);
  }

  /** `at`: where the unfinished field begins. */
  function skip(data: Buffer, start: number, at: number, leftOfValue: number): void {
    const kept = leftOfValue > 0 ? 0 : Math.min(data.length - at, keptOfLine);
    skipped += data.length - kept - start;
    left = leftOfValue;
    held = Buffer.from(data.subarray(at, at + kept));
  }

  function reset(): void {
    held = empty;
    skipped = 0;
    left = 0;
  }
}
