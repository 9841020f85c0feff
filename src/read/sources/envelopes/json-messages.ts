/** Finds log lines in JSON by their content, not by the names of fields. */
import type { JsonRecord } from './json-fields.ts';

/** Recognizes lines of known formats. Without such lines, the names of fields decide. */
export interface KnownTexts {
  /** Returns whether the text may contain a line of a known format, even one that is escaped or has an envelope. It is fast. */
  mentions: (text: string) => boolean;
  /** Returns whether the text, without an envelope, is a line of a known format. */
  reads: (text: string) => boolean;
  /** Returns whether an object is a record of a known format, even one without a packet. */
  isRecord: (record: object) => boolean;
}

/** An object around a message, and the value in it that contains the message. */
export interface MessageEnvelope {
  record: JsonRecord;
  within: unknown;
}

/** A message: a string, or an object that is itself a record of a known format. */
export interface JsonMessage {
  text: string;
  /** The record itself, if the message is an object. */
  own: JsonRecord | undefined;
  /** The objects around it, the innermost first. */
  around: readonly MessageEnvelope[];
}

/** Collectors nest a line six deep (OpenTelemetry). */
const maxDepth = 12;
const maxMessages = 10_000;
/** No line of a known format is shorter. */
const shortest = 12;
/** Names of the field with the line, if the content does not show it: in continuation lines of a record. */
const textNames = [
  'MESSAGE',
  'log',
  'message',
  'msg',
  'line',
  'text',
  'body',
  'textPayload',
  '_raw',
  'original',
  '@message',
  'LogMessage',
  'LogEntry',
  'SyslogMessage',
  'full_message',
  'short_message',
  'content',
  'raw',
  'event',
  'Line',
  'Message',
  'stringValue',
];

/**
 * Returns the messages in a value, in order. An object has one, unless lists in it have several. `reads`: whether a string has a line of a
 * known format; `recordIn`: an object as JSON, if it is one.
 */
export function messagesIn(
  value: unknown,
  reads: (text: string) => boolean,
  recordIn: (record: JsonRecord) => string | undefined,
): readonly JsonMessage[] {
  return walk(value, [], 0);

  function walk(each: unknown, around: readonly MessageEnvelope[], depth: number): readonly JsonMessage[] {
    if (typeof each === 'string') return textsIn(each, around).map((text) => ({ text, own: undefined, around }));
    if (typeof each !== 'object' || each === null || depth > maxDepth) return [];
    return Array.isArray(each) ? ofList(each, around, depth) : ofObject(each as JsonRecord, around, depth);
  }

  /** A text of several parsed lines is a log. Other texts with line breaks are records, and so are those of the journal. */
  function textsIn(text: string, [inner]: readonly MessageEnvelope[]): readonly string[] {
    if (hasLines(text) && inner?.record['MESSAGE'] !== text) {
      const lines = text.split('\n', maxMessages).filter((line) => line.trim() !== '');
      if (lines.filter(reads).length > 1) return lines;
    }
    return reads(text) ? [text] : [];
  }

  function ofList(list: readonly unknown[], around: readonly MessageEnvelope[], depth: number): readonly JsonMessage[] {
    const pairs = asPairs(list);
    if (pairs !== undefined) return ofObject(pairs, around, depth);
    const isTuple =
      list.length > 1 && list.length <= 64 && (isStamp(list[0]) || list.some((each) => typeof each !== 'object'));
    const found = list.slice(0, maxMessages).map((each) => {
      if (!mayHaveMessages(each)) return [];
      const tuple = isTuple ? [{ record: Object.fromEntries(Object.entries(list)), within: each }, ...around] : around;
      return walk(each, tuple, depth + 1);
    });
    if (isTuple || found.every(({ length }) => length === 0)) return found.flat();
    // The other lines may continue a record.
    const [first] = found.flat();
    const keys = keysOf(first?.around.slice(0, first.around.length - around.length) ?? []);
    return found.flatMap((messages, i) => (messages.length > 0 ? messages : otherMessage(list[i], keys, around)));
  }

  function ofObject(record: JsonRecord, around: readonly MessageEnvelope[], depth: number): readonly JsonMessage[] {
    const found: { name: string; messages: readonly JsonMessage[] }[] = [];
    for (const name of Object.keys(record)) {
      const within = record[name];
      // Most values of a record are short texts and numbers.
      if (!mayHaveMessages(within)) continue;
      const messages = walk(within, [{ record, within }, ...around], depth + 1);
      if (messages.length > 0) found.push({ name, messages });
    }
    if (found.length === 1) return found[0]?.messages ?? [];
    const lists = found.filter(({ messages }) => messages.length > 1);
    if (lists.length > 0) return withoutCopies(lists.map(({ messages }) => messages)).flat();
    // Some collectors keep a line twice, in its original and in a parsed or truncated form.
    const [first] = found
      .filter(({ messages }) => !found.some((other) => isCutOf(messages, other.messages)))
      .toSorted((a, b) => rankOf(a.name) - rankOf(b.name));
    if (first !== undefined) return first.messages;
    const text = recordIn(record);
    return text === undefined ? [] : [{ text, own: record, around }];
  }
}

function mayHaveMessages(value: unknown): boolean {
  return typeof value === 'string' ? value.length >= shortest : typeof value === 'object' && value !== null;
}

/** Some tools keep a log twice: as a text and as a list of its lines. */
function withoutCopies(lists: readonly (readonly JsonMessage[])[]): readonly (readonly JsonMessage[])[] {
  if (lists.length < 2) return lists;
  const texts = lists.map((messages) => new Set(messages.map(({ text }) => text)));
  return lists.filter((messages, i) => {
    const isIn = (other: ReadonlySet<string>): boolean => messages.every(({ text }) => other.has(text));
    return !lists.some(
      ({ length }, j) =>
        (length > messages.length || (length === messages.length && j < i)) && isIn(texts[j] ?? new Set()),
    );
  });
}

/** Returns whether a text continues after a line break. */
export function hasLines(text: string): boolean {
  const end = text.indexOf('\n');
  return end >= 0 && end < text.length - 1;
}

/** Returns whether a value is the time of the next value, with metadata: `[1795255203.25, {}]` (Fluent Bit). */
function isStamp(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'number';
}

function isCutOf([{ text = '' } = {}]: readonly Partial<JsonMessage>[], [whole]: readonly JsonMessage[]): boolean {
  return (
    whole !== undefined && whole.text.length > text.length && whole.text.startsWith(text.replace(/(?:…|\.\.\.)$/, ''))
  );
}

function otherMessage(
  value: unknown,
  keys: readonly string[],
  around: readonly MessageEnvelope[],
): readonly JsonMessage[] {
  if (typeof value !== 'object' || value === null) return [];
  const same = messageAt(value, keys, around);
  if (same.length > 0) return same;
  if (!Array.isArray(value)) return namedMessage(value as JsonRecord, around);
  return lastMessage(value, around);
}

/** Returns the text that a tuple ends with, if any: `["1795226670836530000", "line"]`, `[[1795203.25, {}], {"log": "line"}]`. */
export function lastMessage(tuple: readonly unknown[], around: readonly MessageEnvelope[] = []): JsonMessage[] {
  const within = tuple.findLast((each) => typeof each === 'string') ?? tuple.at(-1);
  const outer = [{ record: Object.fromEntries(Object.entries(tuple)), within }, ...around];
  if (typeof within === 'string') return [{ text: within, own: undefined, around: outer }];
  const isRecord = isStamp(tuple[0]) && typeof within === 'object' && within !== null;
  return isRecord ? namedMessage(within as JsonRecord, outer) : [];
}

/** Returns the keys that lead to a message; none if it is not a separate text. */
export function keysOf(around: readonly MessageEnvelope[]): readonly string[] {
  const keys = around.map(({ record, within }) => Object.keys(record).find((key) => record[key] === within));
  return keys.every((key) => key !== undefined) ? keys.toReversed() : [];
}

/** Returns the text at the place where another line was found; undefined without one. */
export function messageAt(
  value: object,
  keys: readonly string[],
  outer: readonly MessageEnvelope[] = [],
): readonly JsonMessage[] {
  const around = [...outer];
  let within: unknown = value;
  for (const key of keys) {
    const record = recordOf(within);
    if (record === undefined) return [];
    within = record[key];
    around.unshift({ record, within });
  }
  return keys.length > 0 && typeof within === 'string' ? [{ text: within, own: undefined, around }] : [];
}

function recordOf(value: unknown): JsonRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (!Array.isArray(value)) return value as JsonRecord;
  const pairs = asPairs(value);
  if (pairs !== undefined) return pairs;
  return value.length === 1 ? recordOf(value[0]) : Object.fromEntries(Object.entries(value));
}

function rankOf(name: string): number {
  const rank = textNames.indexOf(name);
  return rank < 0 ? textNames.length : rank;
}

/** Turns `[{"field":"@message","value":"…"},…]` into an object. */
function asPairs(list: readonly unknown[]): JsonRecord | undefined {
  if (list.length === 0 || list.length > 256) return undefined;
  const pairs: [string, unknown][] = [];
  for (const each of list) {
    const { field, key, name, value } = (each ?? {}) as Record<string, unknown>;
    const label = field ?? key ?? name;
    if (typeof label !== 'string' || value === undefined) return undefined;
    pairs.push([label, value]);
  }
  return Object.fromEntries(pairs);
}

/** Returns the message that the names of fields show, if any. */
export function namedMessage(record: JsonRecord, around: readonly MessageEnvelope[] = []): JsonMessage[] {
  for (const name of textNames) {
    const within = record[name];
    if (typeof within === 'string') return [{ text: within, own: undefined, around: [{ record, within }, ...around] }];
  }
  if (around.length > 5) return [];
  for (const within of Object.values(record)) {
    if (typeof within !== 'object' || within === null) continue;
    const list: readonly unknown[] = Array.isArray(within) ? within : [within];
    // A list of several texts has several messages, all of them unknown.
    if (list.length !== 1 || typeof list[0] !== 'object' || list[0] === null) continue;
    const found = namedMessage(list[0] as JsonRecord, [{ record, within }, ...around]);
    if (found.length > 0) return found;
  }
  return [];
}
