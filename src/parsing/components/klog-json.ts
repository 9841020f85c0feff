import type { ProgramRecord } from '../../model/program-record.ts';
import { createFields } from './fields.ts';
import { endOfGroup } from './groups.ts';
import { errorLimit } from './limits.ts';
import { decodeQuoted, endOfQuoted } from './quoted.ts';
import { newRecord, type Severity } from './record.ts';
import { klogProgram, type Tag } from './tag.ts';

/** Of such a verbosity is what is for developers (Kubernetes, "Logging conventions"). */
const debugVerbosity = 4;

const keyAt = /\s{0,8}[{,]\s{0,8}"([^"\\]{1,128})"\s{0,8}:\s{0,8}/y;
const plainAt = /[^\s,{}[\]"]{1,4096}/y;

/**
 * `{"ts":1795226670836.5308,"caller":"iptables/proxier.go:20","msg":"…","err":"…"}` (component-base logs/json): milliseconds, and
 * no `level`; errors have no verbosity `v`. A record that was cut is read as far as it goes.
 */
export function parseKlogJson(text: string, tag: Tag): ProgramRecord | undefined {
  if (!/^\{\s{0,8}"/.test(text)) return undefined;
  const fields = createFields();
  const own = new Map<string, string>();
  for (let at = 0; ;) {
    keyAt.lastIndex = at;
    const key = keyAt.exec(text)?.[1];
    const read = key === undefined ? undefined : readValue(text, keyAt.lastIndex);
    if (key === undefined || read === undefined) break;
    if (ownKeys.has(key)) own.set(key, read.value);
    else fields.add(key, read.value);
    at = read.end;
  }
  const [time, message, path = '', verbosity] = ['ts', 'msg', 'caller', 'v'].map((key) => own.get(key));
  if (message === undefined || time === undefined || !/^\d{12,13}(?:\.\d{1,9})?$/.test(time) || own.has('level'))
    return undefined;
  const caller = /([^/:]{1,256}):\d{1,9}$/.exec(path)?.[1] ?? '';
  return newRecord({ program: klogProgram(tag, caller), severity: severityOf(verbosity), caller, message }, fields);
}

const ownKeys = new Set(['ts', 'msg', 'caller', 'v', 'level']);

function severityOf(verbosity: string | undefined): Severity {
  if (verbosity === undefined) return 'error';
  return Number(verbosity) >= debugVerbosity ? 'debug' : 'info';
}

function readValue(text: string, at: number): { value: string; end: number } | undefined {
  const first = text[at];
  if (first === '"') {
    const end = endOfQuoted(text, at);
    const value = decodeQuoted(text.slice(at + 1, end < 0 ? undefined : end - 1), errorLimit);
    return { value, end: end < 0 ? text.length : end };
  }
  if (first === '{' || first === '[') {
    const end = endOfGroup(text, at);
    return end < 0 ? undefined : { value: text.slice(at, end), end };
  }
  plainAt.lastIndex = at;
  const value = plainAt.exec(text)?.[0];
  return value === undefined ? undefined : { value, end: at + value.length };
}
