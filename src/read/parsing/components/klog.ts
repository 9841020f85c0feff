import type { ProgramRecord } from '../../../base/model/program-record.ts';
import { readKlogHeader } from '../../../base/log-formats/go-loggers.ts';
import {
  createFields,
  decodeQuoted,
  endOfGroup,
  endOfQuoted,
  errorLimit,
  isErrorKey,
  klogProgram,
  messageLimit,
  newRecord,
  type RecordFields,
  type Severity,
  type Tag,
} from './record.ts';

const severities: Readonly<Record<string, Severity>> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' };

/** k3s ends with a fatal record of one of its parts as a panic: `panic: F1205 08:05:15.257193 …`. */
const panic = /^panic: (?=F\d{4} )/;

export function parseKlogText(whole: string, tag: Tag): ProgramRecord | undefined {
  const text = whole.replace(panic, '');
  const header = readKlogHeader(text);
  if (header === undefined) return undefined;
  const { length, path } = header;
  const severity = severities[header.severity] ?? 'info';
  const caller = path.slice(path.lastIndexOf('/') + 1);
  const fields = createFields();
  const message = readStructured(text, length, fields) ?? readPlain(text.slice(length), severity, fields);
  return newRecord({ program: klogProgram(tag, caller), severity, caller, message }, fields);
}

/** Matches the rest of a header that people keep: `proxier.go:1484] `. */
const restOfHeader = /^([a-z_]{1,64}\.go):\d{1,9}\] ?/;
/** Matches a record of before 1.20 without a header. */
const plainFailure = /^Failed to execute iptables-restore(?: for \w{1,16})?: exit status \d/;

/** Reads a record that was quoted without its header, or with the end of it: `"nftables sync failed" err="…"`. */
export function parseHeadlessKlog(text: string, tag: Tag): ProgramRecord | undefined {
  const [header = '', caller = ''] = restOfHeader.exec(text) ?? [];
  const body = text.slice(header.length);
  const isStructured = body[0] === '"' && body.startsWith(' err=', endOfQuoted(body, 0));
  if (!isStructured && !plainFailure.test(body)) return undefined;
  const fields = createFields();
  const message = isStructured ? (readStructured(body, 0, fields) ?? '') : readPlain(body, 'error', fields);
  return newRecord({ program: klogProgram(tag, caller), severity: 'error', caller, message }, fields);
}

/** Reads `"message" key="value" err=<…`. Returns the message. */
function readStructured(text: string, at: number, fields: RecordFields): string | undefined {
  if (text[at] !== '"') return undefined;
  const end = endOfQuoted(text, at);
  if (end < 0 || !/^\s?$/.test(text.slice(end, end + 1))) return undefined;
  const rest = readKlogValues(text, end, fields);
  // Lines that belong to no field are the error, if its field was damaged.
  if (fields.error === '' && text[rest] === '\n') fields.addError(unindent(text.slice(rest + 1)));
  return decodeQuoted(text.slice(at + 1, end - 1), messageLimit);
}

/** Texts after the error: klog appends goroutines to fatal records, and ipvs mode appended rules to failures. */
const appendix = /\n(?:goroutine \d|Rules:)/;
const marked = /, err(?:or)?: /;

/** Reads `Failed to execute iptables-restore: exit status 1 (iptables-restore: line 7 failed\n)`, the form before 1.20. */
function readPlain(text: string, severity: Severity, fields: RecordFields): string {
  const end = appendix.exec(text)?.index ?? text.length;
  const body = text.slice(0, end);
  const line = body.indexOf('\n');
  const first = line < 0 ? body : body.slice(0, line);
  // A text that begins with a small letter is an error of Go without a message.
  if (severity === 'info' || !/^[A-Z*]/.test(first)) return body;
  const mark = marked.exec(first);
  const colon = first.indexOf(': ');
  const [at, length] = mark !== null ? [mark.index, mark[0].length] : colon > 0 ? [colon, 2] : [first.length, 1];
  fields.addError(body.slice(at + length));
  return body.slice(0, at);
}

/** Records with this verbosity or more are for developers (Kubernetes, "Logging conventions"). */
const debugVerbosity = 4;

const jsonKeyAt = /\s{0,8}[{,]\s{0,8}"([^"\\]{1,128})"\s{0,8}:\s{0,8}/y;
const plainAt = /[^\s,{}[\]"]{1,4096}/y;

/**
 * Reads `{"ts":1795226670836.5308,"caller":"iptables/proxier.go:20","msg":"…","err":"…"}` (component-base logs/json). It has no `level`, but
 * only errors lack the verbosity `v`. A record that was cut off is read up to the cut.
 */
export function parseKlogJson(text: string, tag: Tag): ProgramRecord | undefined {
  if (!/^\{\s{0,8}"/.test(text)) return undefined;
  const fields = createFields();
  const own = new Map<string, string>();
  for (let at = 0; ;) {
    jsonKeyAt.lastIndex = at;
    const key = jsonKeyAt.exec(text)?.[1];
    const read = key === undefined ? undefined : readJsonValue(text, jsonKeyAt.lastIndex);
    if (key === undefined || read === undefined) break;
    if (ownKeys.has(key)) own.set(key, read.value);
    else fields.add(key, read.value);
    at = read.end;
  }
  const [time, message, path = '', verbosity] = ['ts', 'msg', 'caller', 'v'].map((key) => own.get(key));
  if (message === undefined || !/^\d{12,13}(?:\.\d{1,9})?$/.test(time ?? '') || own.has('level')) return undefined;
  const caller = /([^/:]{1,256}):\d{1,9}$/.exec(path)?.[1] ?? '';
  return newRecord({ program: klogProgram(tag, caller), severity: severityOf(verbosity), caller, message }, fields);
}

const ownKeys = new Set(['ts', 'msg', 'caller', 'v', 'level']);

function severityOf(verbosity: string | undefined): Severity {
  if (verbosity === undefined) return 'error';
  return Number(verbosity) >= debugVerbosity ? 'debug' : 'info';
}

function readJsonValue(text: string, at: number): Value | undefined {
  const first = text[at];
  if (first === '"') return readQuoted(text, at);
  if (first === '{' || first === '[') {
    const end = endOfGroup(text, at);
    return end < 0 ? undefined : { value: text.slice(at, end), end };
  }
  plainAt.lastIndex = at;
  const value = plainAt.exec(text)?.[0];
  return value === undefined ? undefined : { value, end: at + value.length };
}

function readQuoted(text: string, at: number): Value {
  const end = endOfQuoted(text, at);
  return {
    value: decodeQuoted(text.slice(at + 1, end < 0 ? undefined : end - 1), errorLimit),
    end: endOr(text, end),
  };
}

const keyAt = /\s{0,64}([^\s="<>{}]{1,128})=/y;
/** ` >` at the beginning of a line ends a value of several lines. */
const closing = /\n ?>(?=[ \n]|$)/g;
/** The closing mark may be elsewhere if line breaks became spaces, or if the value has lost its `<`. */
const closingAnywhere = /\n ?>(?=[ \n]|$)|[ \t]>(?= [\w.-]{1,64}=)/g;
const space = /\s/g;

interface Value {
  value: string;
  end: number;
}

/**
 * Reads ` key=value` pairs of klog (internal/serialize/keyvalues.go). A value is quoted by Go's rules, is JSON, or has several lines with a
 * tab each, from `<` up to ` >`. Log viewers make four spaces of the tab and lose the `<`. Takes linear time. Returns where the pairs end.
 */
function readKlogValues(text: string, from: number, fields: RecordFields): number {
  let at = from;
  for (;;) {
    keyAt.lastIndex = at;
    const key = keyAt.exec(text)?.[1];
    if (key === undefined) return at;
    const { value, end } = readValue(text, keyAt.lastIndex, key);
    fields.add(key, value);
    at = end;
  }
}

function readValue(text: string, at: number, key: string): Value {
  const first = text[at];
  const opens = first === '<' ? at + 1 : at;
  if (opens === text.length || text[opens] === '\n') return readBlock(text, opens + 1, closing);
  if (first === '"') return readQuoted(text, at);
  // An error is always quoted or has several lines, so this one was damaged.
  if (isErrorKey(key)) {
    const { value, end } = readBlock(text, at, closingAnywhere);
    return { value: value.replace(/^[‹<“]\s{0,8}/, ''), end };
  }
  const end = first === '{' || first === '[' ? endOr(text, endOfGroup(text, at)) : before(space, text, at);
  return { value: text.slice(at, end), end };
}

function readBlock(text: string, at: number, close: RegExp): Value {
  close.lastIndex = Math.max(0, at - 1);
  const found = close.exec(text);
  const block = text.slice(at, Math.min(found?.index ?? text.length, at + 2 * errorLimit));
  return { value: unindent(block), end: found === null ? text.length : close.lastIndex };
}

/** Removes from each line the tab, or the four or eight spaces, that the first line has. Other lines lose all leading white space. */
export function unindent(block: string): string {
  const indentation = /^(?:\t| {8}| {4})/.exec(block)?.[0] ?? '';
  if (indentation === '') return block;
  return block
    .split('\n')
    .map((line) => (line.startsWith(indentation) ? line.slice(indentation.length) : line.trimStart()))
    .join('\n');
}

function before(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.exec(text)?.index ?? text.length;
}

function endOr(text: string, end: number): number {
  return end < 0 ? text.length : end;
}
