/**
 * Reads saved logs that are not lines of text: JSON over several lines, tables, and the journal's own forms. Each record becomes one text of
 * JSON, which `readEnvelope` reads as it reads such a line.
 */
import { parsedBytes } from '../../../base/platform/json.ts';
import { createNeedleSearch } from '../framing/needles.ts';
import { createScanner, type ScanCounts } from '../framing/scanner.ts';
import { createRecordBlocks, readFields } from '../journald/export-format.ts';
import { createJsonSplitter } from './json-splitter.ts';
import { createRows, delimiterOf } from './rows.ts';
import { createVerboseRecords, isVerbose } from './verbose.ts';

export type DocumentKind = 'json' | 'table' | 'export' | 'verbose';

/** A longer first line is read piece by piece. */
const longLine = 32 * 1024;
const deepest = 64;

/** Returns undefined for lines of text, of which each may be JSON. `text`: the beginning, latin1. */
export function documentKind(text: string): DocumentKind | undefined {
  const head = text.replace(/^(?:\u00ef\u00bb\u00bf)?\s{0,256}/, '');
  if (/^(?:__CURSOR|__REALTIME_TIMESTAMP)=/.test(head)) return 'export';
  if (isVerbose(head)) return 'verbose';
  // A Ruby hash is not JSON, and is read line by line.
  if (/^[[{]\s{0,256}"[^"\n]{1,64}"\s{0,16}=>/.test(head)) return undefined;
  if (/^(?:\{|\[\s{0,256}(?:[{["\]]|$))/.test(head)) return isManyLines(head) ? 'json' : undefined;
  return delimiterOf(head) === undefined ? undefined : 'table';
}

function isManyLines(head: string): boolean {
  if (isTooDeep(head)) return false;
  const [first = '', ...others] = head.split('\n', 32);
  if (first.length > longLine) return true;
  if (isWhole(first)) return false;
  // If one line of many is cut off, the others are whole.
  return !others.some((line) => line.startsWith('{') && isWhole(line.replace(/,\s*$/, '')));
}

/** Records are never nested so deeply, so such brackets do not begin a document, which would contain all later lines. */
function isTooDeep(head: string): boolean {
  let depth = 0;
  for (const [bracket] of head.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    if (depth > deepest) return true;
  }
  return false;
}

function isWhole(line: string): boolean {
  return parsedBytes(line.trim()) !== undefined;
}

export interface DocumentOptions {
  kind: DocumentKind;
  head: string;
  needles: readonly string[];
  /** Whether the next text is needed without a needle. */
  isOpen: () => boolean;
  take: (text: string, number: number) => void;
  tooLong: (number: number) => void;
}

export interface DocumentReader {
  /** `lines`: line breaks. */
  readonly counts: Readonly<ScanCounts>;
  write: (block: Buffer) => void;
  /** Returns the problem at the end; undefined without one. */
  end: () => string | undefined;
}

export function createDocumentReader(options: DocumentOptions): DocumentReader {
  const counts = { lines: 0, bytes: 0, tooLong: 0 };
  let records = 0;
  const search = createNeedleSearch(options.needles);
  const form = formOf(options, {
    isNeeded: (bytes, start, end) => options.isOpen() || hasNeedle(bytes, start, end),
    take: (text) => options.take(text, ++records),
    tooLong() {
      counts.tooLong++;
      options.tooLong(counts.lines + 1);
    },
  });
  return {
    counts,
    write(block) {
      counts.bytes += block.length;
      for (let at = block.indexOf(10); at >= 0; at = block.indexOf(10, at + 1)) counts.lines++;
      form.write(block);
    },
    end: () => (form.end() ? undefined : 'ends in the middle of a record; what was complete before it was read'),
  };

  function hasNeedle(bytes: Buffer, start: number, end: number): boolean {
    search.reset();
    return search.next(bytes.subarray(start, end), 0, end - start) >= 0;
  }
}

interface RecordSink {
  isNeeded: (bytes: Buffer, start: number, end: number) => boolean;
  take: (text: string) => void;
  tooLong: () => void;
}

interface Form {
  write: (block: Buffer) => void;
  end: () => boolean;
}

function formOf({ kind, head }: DocumentOptions, sink: RecordSink): Form {
  switch (kind) {
    case 'json':
      return createJsonSplitter(sink);
    case 'table':
      return tableForm(delimiterOf(head) as string, sink);
    case 'export':
      return exportForm(sink);
    case 'verbose':
      return verboseForm(sink);
    default:
      return kind satisfies never;
  }
}

function tableForm(delimiter: string, { isNeeded, take, tooLong }: RecordSink): Form {
  let names: readonly string[] | undefined;
  const rows = createRows(delimiter, {
    take(cells) {
      if (names === undefined) {
        names = cells.map((name) => name.replace(/^\u00ef\u00bb\u00bf/, ''));
        return;
      }
      const bytes = Buffer.from(cells.join('\n'), 'latin1');
      if (isNeeded(bytes, 0, bytes.length))
        take(JSON.stringify(Object.fromEntries(cells.map((cell, i) => [names?.[i] ?? `column${i}`, cell]))));
    },
    tooLong,
  });
  return { write: (block) => rows.write(block.toString('latin1')), end: () => rows.end() };
}

function exportForm({ isNeeded, take, tooLong }: RecordSink): Form {
  let written = 0;
  let taken = 0;
  const blocks = createRecordBlocks({
    take(block, ends) {
      taken += block.length;
      let start = 0;
      for (const end of ends) {
        if (isNeeded(block, start, end)) take(JSON.stringify(readFields(block, start, end)));
        start = end;
      }
    },
    tooLong(bytes) {
      taken += bytes;
      tooLong();
    },
  });
  return {
    write(block) {
      written += block.length;
      blocks.write(block);
    },
    end() {
      const isCut = written > taken;
      // The last record may lack its empty line.
      blocks.write(Buffer.from('\n\n'));
      return !isCut || written <= taken;
    },
  };
}

function verboseForm({ isNeeded, take, tooLong }: RecordSink): Form {
  const records = createVerboseRecords((json) => {
    const bytes = Buffer.from(json, 'latin1');
    if (isNeeded(bytes, 0, bytes.length)) take(json);
  });
  const scanner = createScanner({ needles: undefined, lines: { take: records.take, tooLong } });
  return {
    write: (block) => scanner.write(block),
    end() {
      scanner.end();
      records.end();
      return true;
    },
  };
}
