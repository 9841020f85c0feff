import type { ProgramRecord } from '../../model/program-record.ts';
import { readKlogHeader } from '../../log-formats/klog.ts';
import { createFields, type Fields } from './fields.ts';
import { readKlogValues, unindent } from './klog-values.ts';
import { messageLimit } from './limits.ts';
import { decodeQuoted, endOfQuoted } from './quoted.ts';
import { newRecord, type Severity } from './record.ts';
import { klogProgram, type Tag } from './tag.ts';

const severities: Readonly<Record<string, Severity>> = { I: 'info', W: 'warning', E: 'error', F: 'fatal' };

export function parseKlogText(text: string, tag: Tag): ProgramRecord | undefined {
  const header = readKlogHeader(text);
  if (header === undefined) return undefined;
  const { length, path } = header;
  const severity = severities[header.severity] ?? 'info';
  const caller = path.slice(path.lastIndexOf('/') + 1);
  const fields = createFields();
  const message = readStructured(text, length, fields) ?? readPlain(text.slice(length), severity, fields);
  return newRecord({ program: klogProgram(tag, caller), severity, caller, message }, fields);
}

/** `"nftables sync failed" err="…"`, quoted without its header; undefined for what is none. */
export function parseHeadlessKlog(text: string, tag: Tag): ProgramRecord | undefined {
  if (text[0] !== '"' || !text.startsWith(' err=', endOfQuoted(text, 0))) return undefined;
  const fields = createFields();
  const message = readStructured(text, 0, fields) ?? '';
  return newRecord({ program: klogProgram(tag, ''), severity: 'error', caller: '', message }, fields);
}

/** `"message" key="value" err=<…` */
function readStructured(text: string, at: number, fields: Fields): string | undefined {
  if (text[at] !== '"') return undefined;
  const end = endOfQuoted(text, at);
  if (end < 0 || !/^\s?$/.test(text.slice(end, end + 1))) return undefined;
  const rest = readKlogValues(text, end, fields);
  // Lines that no field has taken: the error of a record whose field has lost its form.
  if (fields.error === '' && text[rest] === '\n') fields.addError(unindent(text.slice(rest + 1)));
  return decodeQuoted(text.slice(at + 1, end - 1), messageLimit);
}

/** What klog appends to fatal records, and what ipvs mode appended to failures: neither is about the error. */
const appendix = /\n(?:goroutine \d|Rules:)/;
/** `, err: exit status 1`, `, error: …` */
const marked = /, err(?:or)?: /;

/** `Failed to execute iptables-restore: exit status 1 (iptables-restore: line 7 failed\n)`: before 1.20 the error comes last. */
function readPlain(text: string, severity: Severity, fields: Fields): string {
  const end = appendix.exec(text)?.index ?? text.length;
  const body = text.slice(0, end);
  const line = body.indexOf('\n');
  const first = line < 0 ? body : body.slice(0, line);
  // What begins with a small letter is an error as Go writes them, and nothing else.
  if (severity === 'info' || !/^[A-Z*]/.test(first)) return body;
  const mark = marked.exec(first);
  const colon = first.indexOf(': ');
  const [at, length] = mark !== null ? [mark.index, mark[0].length] : colon > 0 ? [colon, 2] : [first.length, 1];
  fields.addError(body.slice(at + length));
  return body.slice(0, at);
}
