import { hasKlogHeader } from '../../../base/log-formats/go-loggers.ts';
import { mayHaveCells, readCells, readSameCell } from './cells.ts';
import type { StampClock } from './clock.ts';
import { type Envelope, newEnvelope, type Origin, readKernelTag, readKmsg, readTag } from './envelope.ts';
import { readJournal } from './journal-record.ts';
import type { KnownTexts } from './json-messages.ts';
import {
  mayBeginWithKey,
  readDecoded,
  readLabels,
  readPriority,
  readQuoted,
  readSameQuote,
  readTalos,
} from './layers.ts';
import { readPrefix, readRecordTag } from './prefix.ts';
import { mayBeginWithMark, withoutEntities, withoutMarks } from './quoting.ts';
import { readJson } from './read-json.ts';
import { readDmesg, readMonthStamp, readNumericStamp } from './stamps.ts';

/**
 * Real envelopes nest up to nine deep: logfmt around the tag and JSON of Fluent Bit, around those of Fluentd, around Docker's JSON, around
 * a syslog head with the kernel's tag and uptime. Deeper nesting is hostile.
 */
const maxLayers = 12;

/** The text that may be before a line: a byte order mark; the separator of `journalctl -o json-seq`; the field name of `json-sse`. */
const marks = /^(?:\u00ef\u00bb\u00bf|\x1e|data: (?=\{))/;

/**
 * Removes the envelopes that log daemons, container runtimes, collectors and shells put around a line. `known`: finds the line in JSON by
 * its content; without it, by the names of fields. Never throws.
 */
export function readEnvelope(line: string, clock: StampClock, known?: KnownTexts): Envelope {
  const envelope = newEnvelope(withoutMarks(line));
  takeLayers(envelope, { clock, known }, 0);
  return envelope;
}

export function readJournalFields(fields: { readonly [name: string]: string }, clock: StampClock): Envelope {
  const envelope = newEnvelope('');
  readJournal(envelope, fields);
  takeLayers(envelope, { clock, known: undefined }, 1);
  return envelope;
}

/** Not a hash of Ruby. */
const mayBeJson = /^(?:[{[](?![^"=]{0,64}"[\w.@-]{1,64}"\s{0,8}=>)|[",])/;

/** The layers after which a prefix may follow. After others, such as the kernel's tag, it would be a LOG prefix. */
const beforePrefixes = /^(?:prefix|labels|quoted text|table row|.*JSON)$/;

interface Reading {
  clock: StampClock;
  known: KnownTexts | undefined;
}

function takeLayers(envelope: Envelope, reading: Reading, first: number): void {
  const { clock, known } = reading;
  for (let depth = first; depth < maxLayers; depth++) {
    const before = envelope.text;
    const last = envelope.layers.at(-1);
    const mayHavePrefix = last === undefined || beforePrefixes.test(last);
    // The output of a program or a Pod stays its own, even with cells and quotes.
    const isUnnamed = mayHavePrefix && envelope.origin === 'unknown';
    // A text that begins with a key and a quote ends with the quote, whatever its content.
    if (
      isUnnamed &&
      mayBeginWithKey(before) &&
      known?.mentions(before) === true &&
      outerOrigin(before, clock) === 'unknown'
    )
      readQuoted(envelope, {
        clock,
        isLine: (text) => readsLine(text, reading),
        takeLayers: (inner) => takeLayers(inner, reading, depth + 1),
      });
    if (
      isUnnamed &&
      envelope.text === before &&
      mayHaveCells(before) &&
      known?.mentions(before) === true &&
      isAnonymous(before, clock)
    )
      readCells(envelope, clock, known, (text) => readsLine(text, reading));
    if (isUnnamed && known !== undefined && envelope.text === before) readSamePlace(envelope, reading);
    if (envelope.text === before) takeLayer(envelope, reading, depth);
    // Talos writes node, facility and level only at the very start. Further on, such a text would be a LOG prefix.
    if (depth === 0 && envelope.text === before) readTalos(envelope, clock);
    if (envelope.text === before) readTag(envelope);
    if (envelope.text === before && last === 'RFC 3339 stamp') {
      readLabels(envelope);
      readRecordTag(envelope);
    }
    if (envelope.text === before && mayHavePrefix) readPrefix(envelope, clock, known);
    if (envelope.text === before) envelope.text = withoutEntities(before);
    if (envelope.text === before) break;
  }
}

/** Reads a text that may continue the record of a line in a cell or in quotes. */
function readSamePlace(envelope: Envelope, reading: Reading): void {
  const { text } = envelope;
  const { clock } = reading;
  const { cells, quotes } = clock.recent.place;
  if ((cells.length === 0 && quotes.length === 0) || mayBeJson.test(text)) return;
  // A line that begins a record does not continue another one.
  if (hasKlogHeader(text) || (reading.known?.mentions(text) === true && reading.known.reads(text))) return;
  if (cells.length > 0 && mayHaveCells(text)) readSameCell(envelope, clock, isLine);
  if (envelope.text === text && quotes.length > 0) readSameQuote(envelope, clock, isLine);

  function isLine(inner: string): boolean {
    return readsLine(inner, reading);
  }
}

/**
 * Returns whether no envelope names a program or a Pod as the writer: the output of these stays their own, even in a cell. JSON is read
 * before its texts.
 */
function isAnonymous(text: string, clock: StampClock): boolean {
  if (mayBeJson.test(text)) return false;
  const origin = outerOrigin(text, clock);
  return origin === 'unknown' || origin === 'kernel';
}

function outerOrigin(text: string, clock: StampClock): Origin {
  const outer = newEnvelope(text);
  takeLayers(outer, { clock, known: undefined }, 0);
  return outer.origin;
}

/** Returns whether the text is a line of a known format, perhaps with its own envelope. */
function readsLine(text: string, reading: Reading): boolean {
  if (reading.known?.mentions(text) !== true) return false;
  const inner = newEnvelope(text);
  takeLayers(inner, reading, 1);
  return reading.known.reads(inner.text);
}

function takeLayer(envelope: Envelope, { clock, known }: Reading, depth: number): void {
  const { text } = envelope;
  const first = text.charCodeAt(0);
  if (first === 0xef || first === 0x1e || first === 0x64) envelope.text = text.replace(marks, '');
  // After blanks, such a character belongs to klog.
  if (mayBeginWithMark.test(text) && envelope.indent === '') envelope.text = withoutMarks(text);
  if (first === 0x5b /* [ */) readDmesg(envelope, clock);
  if (envelope.text !== text) return;
  if (
    first === 0x7b /* { */ ||
    ((first === 0x5b || first === 0x2c || first === 0x22) && /^[[,]?\s{0,64}[{["]/.test(text))
  )
    return readJson(envelope, {
      clock,
      known,
      takeLayers: (inner) => takeLayers(inner, { clock, known }, depth + 1),
    });
  if (first === 0x3c /* < */) return readPriority(envelope);
  if (first === 0x20 || first === 0x09) {
    envelope.text = text.trimStart();
    envelope.indent = text.slice(0, text.length - envelope.text.length);
    return;
  }
  if (first >= 0x30 && first <= 0x39) return readKmsg(envelope, clock) ? undefined : readNumericStamp(envelope, clock);
  if (first >= 0x41 && first <= 0x5a) return readMonthStamp(envelope, clock);
  if (first >= 0x61 && first <= 0x7a) {
    readKernelTag(envelope);
    // `dmesg -x` writes the facility only at the very start. Further on, such a text would be a LOG prefix.
    if (envelope.layers.length === 0) readDecoded(envelope);
  }
}
