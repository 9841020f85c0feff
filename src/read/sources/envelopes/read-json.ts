/** Removes the JSON around a line: a record of journald, of a container runtime, of any collector; a text within a string; pieces of a list. */
import { isAscii, parsedBytes } from '../../../base/platform/json.ts';
import type { LinePlace, StampClock } from './clock.ts';
import { copyOf, type Envelope, newEnvelope, setProgram, setTime } from './envelope.ts';
import { readJournal } from './journal-record.ts';
import { hostIn, type JsonRecord, programIn, timeIn, timeOf } from './json-fields.ts';
import {
  hasLines,
  type JsonMessage,
  keysOf,
  type KnownTexts,
  lastMessage,
  messageAt,
  messagesIn,
  namedMessage,
} from './json-messages.ts';
import { namedContainer } from './named-container.ts';
import { withoutMarks } from './quoting.ts';

export interface JsonContext {
  clock: StampClock;
  /** Undefined: the names of fields show where the line is. */
  known: KnownTexts | undefined;
  /** Removes the envelope of a text within the JSON. */
  takeLayers: (envelope: Envelope) => void;
}

export function readJson(envelope: Envelope, context: JsonContext): void {
  const value = parsedPiece(envelope.text);
  if (typeof value === 'string') {
    envelope.text = bytesOf(value);
    envelope.layers.push('JSON');
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  const [first, ...others] = messagesOf(value, envelope.text, context);
  if (first === undefined) {
    if (!Array.isArray(value)) readMessage(envelope, value as JsonRecord, context.clock);
    return;
  }
  const more = others.map((message) => {
    const copy = copyOf(envelope);
    apply(copy, message, context.clock);
    context.takeLayers(copy);
    return copy;
  });
  if (more.length > 0) envelope.more = [...envelope.more, ...more];
  apply(envelope, first, context.clock);
}

/** Loggers write no blanks between keys and values, and their formats are read in exactly this form. */
const isSpaced = /^\{(?:\s|"[^"]{0,128}"(?:\s|:\s))/;

function ownMessage(record: JsonRecord): JsonMessage {
  return { text: JSON.stringify(record), own: record, around: [] };
}

function messagesOf(
  value: object,
  whole: string,
  { clock: { recent }, known, takeLayers }: JsonContext,
): readonly JsonMessage[] {
  if (Array.isArray(value)) {
    const found = known === undefined ? [] : noted(messagesIn(value, reads, recordIn));
    return known === undefined || found.length > 0 ? found : sameOr(() => lastMessage(value));
  }
  const record = value as JsonRecord;
  const direct = record['MESSAGE'] ?? record['log'] ?? record['message'];
  const isDirect =
    typeof direct === 'string'
      ? known === undefined || (!hasLines(direct) && (direct.includes('IN=') || reads(direct)))
      : Array.isArray(record['MESSAGE']);
  if (isDirect) return [{ text: String(direct), own: undefined, around: [{ record, within: direct }] }];
  if (known === undefined) return [];
  if (known.isRecord(record)) return isSpaced.test(whole) ? [ownMessage(record)] : [];
  const found = noted(messagesIn(record, reads, recordIn));
  if (found.length === 0) return sameOr(() => namedMessage(record));
  return found.some(({ own, text }) => own === record && text === whole) ? [] : found;

  function noted(messages: readonly JsonMessage[]): readonly JsonMessage[] {
    const [first] = messages;
    if (first !== undefined && messages.length === 1 && first.own === undefined)
      recent.place.keys = withFirst(recent.place.keys, keysOf(first.around));
    return messages;
  }

  function sameOr(named: () => readonly JsonMessage[]): readonly JsonMessage[] {
    const same = recent.place.keys.map((keys) => messageAt(value, keys)).find(({ length }) => length > 0);
    return same ?? named();
  }

  function recordIn(inner: JsonRecord): string | undefined {
    const text = JSON.stringify(inner);
    if (known?.isRecord(inner) === true) return text;
    return known?.mentions(text) === true && known.reads(text) ? text : undefined;
  }

  function reads(text: string): boolean {
    if (known?.mentions(text) !== true) return false;
    const inner = newEnvelope(lineOf(text));
    takeLayers(inner);
    return known.reads(inner.text);
  }
}

/** How many places of lines in JSON are remembered. */
const mostPlaces = 4;

function withFirst(places: LinePlace['keys'], keys: readonly string[]): LinePlace['keys'] {
  const isSame = (other: readonly string[]): boolean =>
    other.length === keys.length && other.every((key, i) => key === keys[i]);
  if (keys.length === 0 || (places[0] !== undefined && isSame(places[0]))) return places;
  return [keys, ...places.filter((other) => !isSame(other))].slice(0, mostPlaces);
}

function apply(envelope: Envelope, { text, own, around }: JsonMessage, clock: StampClock): void {
  const [inner] = around;
  const before = envelope.time;
  envelope.layers.push(inner !== undefined && 'stream' in inner.record ? 'Docker JSON' : 'JSON');
  envelope.text = lineOf(text);
  if (own !== undefined) return readMessage(envelope, own, clock, around);
  if (inner !== undefined && 'MESSAGE' in inner.record && inner.within === inner.record['MESSAGE']) {
    envelope.layers.pop();
    readJournal(envelope, inner.record);
  }
  const hadTime = envelope.time !== before;
  readAround(envelope, around, clock, hadTime);
}

/** Reads time, host and writer from the objects around a message, each from the innermost object that has it. */
function readAround(envelope: Envelope, around: JsonMessage['around'], clock: StampClock, hasTime: boolean): void {
  const isKnownWriter = envelope.origin === 'kernel' || envelope.origin === 'userspace';
  const time = hasTime ? undefined : firstOf(around, ({ record }) => timeIn(record, clock));
  if (time !== undefined) setTime(envelope, time.time, time.exact, time.lacks);
  if (!(envelope.layers.at(-1) === 'journald JSON' && envelope.host !== undefined)) {
    const host = firstOf(around, ({ record }) => hostIn(record));
    if (host !== undefined && (envelope.host === undefined || !isKnownWriter)) {
      envelope.host = host;
      envelope.isHostOfCollector = true;
    }
  }
  const program = firstOf(around, ({ record }) => programIn(record));
  if (program !== undefined && envelope.program === undefined) {
    setProgram(envelope, program);
  }
  for (const { record, within } of around) {
    const container = namedContainer(record, within);
    if (container === undefined) continue;
    // A container is never the kernel, whatever its program is called.
    envelope.origin = 'userspace';
    envelope.container = { ...envelope.container, ...withoutUndefined(container) };
    envelope.program ??= container.container;
  }
  const { namespace, pod, container } = envelope.container ?? {};
  envelope.writer += `${envelope.host} ${program} ${namespace} ${pod} ${container}`;
}

function firstOf<Each, Found>(list: readonly Each[], find: (each: Each) => Found | undefined): Found | undefined {
  for (const each of list) {
    const found = find(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

function withoutUndefined<Names extends object>(names: Names): Partial<Names> {
  return Object.fromEntries(Object.entries(names).filter(([, name]) => name !== undefined)) as Partial<Names>;
}

/** Reads a record that is itself the message. Hubble writes its node as `cluster/node`. */
function readMessage(
  envelope: Envelope,
  record: JsonRecord,
  clock: StampClock,
  around: JsonMessage['around'] = [],
): void {
  const node = record['node_name'];
  const [time, hadHost] = [ownTimeOf(record, clock), envelope.host];
  if (around.length > 0) readAround(envelope, around, clock, time !== undefined);
  if (typeof node === 'string' && node !== '') {
    envelope.host = node.slice(node.lastIndexOf('/') + 1);
    envelope.isHostOfCollector = false;
  } else if (hadHost !== undefined && envelope.origin === 'userspace') envelope.host = hadHost;
  const { origin } = envelope;
  if (time !== undefined) {
    // The time of a record comes from its writer, which is checked elsewhere.
    envelope.origin = 'unknown';
    setTime(envelope, time.time, time.exact, time.lacks);
    envelope.origin = origin;
  }
  const container = namedContainer(metadataOf(record), undefined);
  if (container === undefined) return;
  envelope.origin = 'userspace';
  envelope.container ??= container;
  envelope.program ??= container.container;
}

/** The fields that a collector has added to a parsed record. */
function metadataOf(record: JsonRecord): JsonRecord {
  return Object.fromEntries(
    Object.entries(record).filter(([key]) =>
      /^(?:kubernetes|k8s|docker|container|file|log|filename|stream)\b/i.test(key),
    ),
  );
}

/** The logger's own time. ulogd has the kernel's beside its own, which may lack the zone; zap `ts`, Hubble `time`, Calico `start_time`. */
function ownTimeOf(record: JsonRecord, clock: StampClock): ReturnType<typeof timeOf> {
  const { 'oob.time.sec': seconds, 'oob.time.usec': micros } = record;
  if (typeof seconds === 'number' && seconds > 0)
    return { time: seconds * 1000 + (typeof micros === 'number' ? micros / 1000 : 0), exact: true };
  return timeOf(record['timestamp'] ?? record['ts'] ?? record['time'] ?? record['start_time'], clock);
}

/** Parses JSON, or one line of a list: `[{…},`, `{…},`, `{…}]`. */
function parsedPiece(text: string): unknown {
  const last = text.charCodeAt(text.length - 1);
  if (last === 0x7d /* } */ && text.startsWith('{')) return parsedBytes(text);
  const piece = text.trim();
  const whole = parsedBytes(piece);
  if (whole !== undefined) return whole;
  const inner = piece.replace(/^[[,]\s*(?=[{["])/, '').replace(/(?<=[}\]"])\s*(?:,|\])$/, '');
  return inner === piece ? undefined : parsedBytes(inner);
}

function lineOf(text: string): string {
  const line = bytesOf(text.endsWith('\n') ? text.slice(0, -1) : text);
  return line.includes('\x1b') ? withoutMarks(line) : line;
}

/** JSON is decoded text, but lines have one character for each byte. */
function bytesOf(text: string): string {
  return isAscii(text) ? text : Buffer.from(text).toString('latin1');
}
