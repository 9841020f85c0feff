/** Layers that log daemons and kernel tools put before a line, apart from stamps and JSON. */
import { fractionOf } from '../../../base/log-formats/rfc3339.ts';
import { parsed } from '../../../base/platform/json.ts';
import type { StampClock } from './clock.ts';
import { copyOf, type Envelope, newEnvelope, setTime, takeOff } from './envelope.ts';
import { namedContainer } from './named-container.ts';
import { withoutMarks } from './quoting.ts';
import { readNumericStamp } from './stamps.ts';

/** Reads a syslog priority, `<4>`: facility * 8 + severity (RFC 3164, 4.1.1). Facility 0 means the kernel. */
export function readPriority(envelope: Envelope): void {
  const found = /^<(\d{1,3})>(?:1 (?=\d{4}-))?/.exec(envelope.text);
  if (!found) return;
  envelope.text = envelope.text.slice(found[0].length);
  if (Number(found[1]) >> 3 !== 0) envelope.origin = 'userspace';
  envelope.layers.push('syslog priority');
}

const talos =
  /^(?:([A-Za-z0-9][A-Za-z0-9._:%-]{0,254}): )?(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d): {1,7}[a-z]{3,7}: \[(\d[^\]]{18,40})\]: /;

/**
 * Reads `talosctl dmesg` and `talosctl logs kernel` of Talos Linux: `10.0.1.2: kern: warning: [2026-11-21T03:42:11.123456789Z]: …`. The
 * node's name is the requested one (`Dmesg` in machined's v1alpha1 server). Other facilities are not the kernel's.
 */
export function readTalos(envelope: Envelope, clock: StampClock): void {
  const found = talos.exec(envelope.text);
  if (!found) return;
  const [whole, node, facility, stamp = ''] = found;
  const inner = newEnvelope(stamp);
  readNumericStamp(inner, clock);
  if (inner.time === undefined) return;
  setTime(envelope, inner.time, true, inner.timeLacks);
  if (node !== undefined) envelope.host = node;
  if (facility !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, whole.length, 'talosctl dmesg');
}

const labels = /^\{(?:[A-Za-z_]\w{0,127}="(?:[^"\\]|\\.){0,512}"(?:, ?)?){1,32}\} /;

/** Reads the labels that logcli prints between the stamp and the line: `{filename="/var/log/kern.log", job="kern"} …`. */
export function readLabels(envelope: Envelope): void {
  const found = labels.exec(envelope.text);
  if (found === null) return;
  const names = Object.fromEntries(
    Array.from(found[0].matchAll(/(\w{1,128})="((?:[^"\\]|\\.){0,512})"/g), ([, name, value]) => [name, value]),
  );
  takeOff(envelope, found[0].length, 'labels');
  const container = namedContainer(names, undefined);
  if (container === undefined) return;
  envelope.origin = 'userspace';
  envelope.container ??= container;
  envelope.program ??= container.container;
}

const key =
  /^(?:[*+-] )?(?:[\w.@-]{1,64}(?: ?= ?|: (?![{[]\s?["{]))|\[?[b$]?'|b"|\{'|(?:[[{][^"'=]{0,64})?"[\w.@-]{1,64}"\s{0,8}=>\s?)|^[*+-] "/;
const quoted = /(?:^[b$]?|[*+-] |[=:>[,] ?[b$]?)(?:("(?:[^"\\]|\\.){12,}")|'((?:[^'\\]|\\.|''){12,})')/g;
const anyStamp = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s"',<]{0,16}/;
/** Matches the time that Fluent Bit prints before a record: `[1795226670.836530, {…`. */
const bracketedSeconds = /(?:^|\s)\[{1,2}(\d{10})(\.\d{1,9})?, /;

/** Most lines of logs do not begin with a key. */
export function mayBeginWithKey(text: string): boolean {
  return key.test(text);
}

interface QuotedContext {
  clock: StampClock;
  isLine: (text: string) => boolean;
  /** Removes the envelope of a text within quotes. */
  takeLayers: (envelope: Envelope) => void;
}

/**
 * Reads a text that is the value of a key in a line of keys (logfmt, YAML, Ruby, Python): `level=info msg="…"`, `msg: '…'`, `b'…'`. A list
 * has several texts, without keys or with the same key; texts of other keys are other forms of the same line.
 */
export function readQuoted(envelope: Envelope, { clock, isLine, takeLayers }: QuotedContext): void {
  const { text } = envelope;
  const found = [...text.matchAll(quoted)].flatMap(({ 0: whole, 1: double, 2: single = '', index }) => {
    const inner = textOf(double, single);
    if (!isLine(inner)) return [];
    const opening = index + whole.length - (double?.length ?? single.length + 2);
    const before = openingQuote.exec(text.slice(Math.max(0, opening - longestKey), opening + 1))?.[0] ?? '';
    return [{ inner, index, before }];
  });
  const [first, ...others] = found;
  if (first === undefined) return;
  noteQuote(clock, first.before);
  readStampBefore(envelope, text.slice(0, first.index), clock);
  const more = others.filter(({ inner, before }) => inner !== first.inner && nameIn(before) === nameIn(first.before));
  const alike = more.map(({ inner }) => {
    const other = copyOf(envelope);
    takeQuoted(other, inner);
    takeLayers(other);
    return other;
  });
  if (alike.length > 0) envelope.more = [...envelope.more, ...alike];
  takeQuoted(envelope, first.inner);
}

function takeQuoted(envelope: Envelope, inner: string): void {
  envelope.text = inner;
  // The blanks before the key do not belong to the text.
  envelope.indent = '';
  envelope.layers.push(quotedLayer);
}

const quotedLayer = 'quoted text';

function nameIn(opening: string): string {
  return opening.replaceAll(/[^\w.@-]/g, '');
}

function readStampBefore(envelope: Envelope, before: string, clock: StampClock): void {
  const [, seconds, fraction] = bracketedSeconds.exec(before) ?? [];
  if (seconds !== undefined) return setTime(envelope, Number(seconds) * 1000 + fractionOf(fraction));
  const stamp = newEnvelope(anyStamp.exec(before)?.[0] ?? '');
  readNumericStamp(stamp, clock);
  setTime(envelope, stamp.time, stamp.timeIsExact, stamp.timeLacks);
}

/** How many beginnings of quoted texts are remembered, because such texts may be nested. */
const mostQuotes = 4;

function noteQuote({ recent: { place } }: StampClock, quote: string): void {
  if (quote === '' || place.quotes[0] === quote) return;
  place.quotes = [quote, ...place.quotes.filter((other) => other !== quote)].slice(0, mostQuotes);
}

const longestKey = 96;
/** Matches the key before a text in quotes, with the quote. */
const openingQuote = /(?:"[\w.@-]{1,64}"\s{0,8}(?:=>|:)\s?|[\w.@-]{1,64}(?: ?= ?|: )|^[ *+-]{0,8}|[[,] ?)[b$]?["']$/;

/** Reads a text after the key of the last line: it may continue that line's record. A text that may itself be a line does not. */
export function readSameQuote(envelope: Envelope, { recent }: StampClock, isLine: (text: string) => boolean): void {
  const { text } = envelope;
  const [outermost] = recent.place.quotes
    .map((quote) => ({ at: text.indexOf(quote), length: quote.length }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at);
  if (outermost === undefined) return;
  const rest = text.slice(outermost.at + outermost.length - 1);
  const [, double, single = ''] = wholeQuote.exec(rest) ?? [];
  const inner = textOf(double, single);
  if (inner === '' || isLine(inner)) return;
  envelope.text = inner.trimStart();
  envelope.indent = inner.slice(0, inner.length - envelope.text.length);
  envelope.layers.push(quotedLayer);
}

const wholeQuote = /^(?:("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.|'')*)')/;

/** `double`: JSON, with its quotes. */
function textOf(double: string | undefined, single: string): string {
  const text = double === undefined ? unquoted(single) : parsed(double);
  if (typeof text !== 'string') return '';
  return text.includes('\x1b') ? withoutMarks(text) : text;
}

/** YAML doubles a single quote, and Python puts a backslash before it and before another backslash. */
function unquoted(text: string): string {
  const isOfPython = /\\['\\]/.test(text) && !text.includes("''") && !/\\[^'nrtxuU]/.test(text.replaceAll('\\\\', ''));
  return isOfPython ? text.replace(/\\n$/, '').replaceAll(/\\(['\\])/g, '$1') : text.replaceAll("''", "'");
}

/** Reads `dmesg -x`: `kern  :warn  : [ 1156.246182] …`. Other facilities are not the kernel's. */
export function readDecoded(envelope: Envelope): void {
  const found =
    /^(kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local\d) {0,6}:[a-z]{3,6} {0,4}: ?/.exec(
      envelope.text,
    );
  if (!found) return;
  if (found[1] !== 'kern') envelope.origin = 'userspace';
  takeOff(envelope, found[0].length, 'dmesg -x');
}
