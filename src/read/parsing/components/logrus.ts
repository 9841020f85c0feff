import { hasLogrusPairs, readLogrusHeader } from '../../../base/log-formats/go-loggers.ts';
import type { ProgramRecord } from '../../../base/model/program-record.ts';
import {
  createFields,
  decodeQuoted,
  endOfGroup,
  endOfQuoted,
  errorLimit,
  logrusProgram,
  mayBeCalico,
  newRecord,
  type RecordFields,
  type Severity,
  type Tag,
} from './record.ts';

/** Match Calico's header in a syslog, `WARNING table.go 654: `, and one without its beginning, `felix/table.go 654: `. */
const shortened = [
  /^(?<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|PANIC|CRITICAL) (?<file>\S{1,253}\.go) \S{1,16}: ?/,
  /^(?<file>[\w-]{1,64}\/[\w.-]{1,128}\.go) \d{1,9}: ?/,
];

/** Matches Felix's messages as people quote them, without any header. */
const bare = /^(?:Failed to execute ip\(6\)tables-restore command|Failed to program (?:ip|nf)tables,) /;

/** Matches a panic of logrus. It prints only the address of the record, which was logged just before. */
const panic = 'panic: (*logrus.Entry)';

const severities: Readonly<Record<string, Severity>> = {
  TRACE: 'debug',
  DEBUG: 'debug',
  INFO: 'info',
  ERROR: 'error',
  FATAL: 'fatal',
  CRITICAL: 'fatal',
  PANIC: 'fatal',
};

export function parseLogrus(text: string, tag: Tag): ProgramRecord | undefined {
  const fields = createFields();
  if (text.startsWith(panic)) {
    return newRecord({ program: 'calico-node', severity: 'fatal', caller: '', message: text }, fields);
  }
  const whole = readLogrusHeader(text);
  if (whole !== undefined) return read(text, whole.length, whole.level, whole.file, tag);
  for (const header of shortened) {
    const found = header.exec(text);
    if (found !== null) return read(text, found[0].length, found.groups?.['level'], found.groups?.['file'] ?? '', tag);
  }
  return bare.test(text) ? read(text, 0, undefined, 'felix/', tag) : undefined;
}

function read(text: string, at: number, level: string | undefined, file: string, tag: Tag): ProgramRecord {
  const fields = createFields();
  const body = createLogrusText(text, at);
  const message = body.readMessage();
  body.readFields(fields);
  const caller = file === 'felix/' ? '' : file;
  return newRecord(
    { program: logrusProgram(tag, file), severity: severities[level ?? ''] ?? 'warning', caller, message },
    fields,
  );
}

/** Reads logrus without a terminal: `time="2026-11-21T10:00:00Z" level=warning msg="…" error="…"`. */
export function parseLogrusPairs(text: string, tag: Tag): ProgramRecord | undefined {
  // k3s, containerd and many other programs write this form, too.
  if (!hasLogrusPairs(text) || !mayBeCalico(tag)) return undefined;
  const own = new Map<string, string>();
  const fields = createFields();
  createLogrusText(` ${text}`, 0).readFields({
    add: (key, value) => (ownKeys.has(key) ? void own.set(key, value) : fields.add(key, value)),
  });
  const [level, message, file = ''] = ['level', 'msg', 'file'].map((key) => own.get(key));
  if (level === undefined || message === undefined) return undefined;
  const severity = severities[level.toUpperCase()] ?? 'warning';
  const caller = file.slice(file.lastIndexOf('/') + 1).replace(/:\d{1,9}$/, '');
  return newRecord({ program: 'calico-node', severity, caller, message }, fields);
}

const ownKeys = new Set(['time', 'level', 'msg', 'file', 'func']);

const keyAt = / [A-Za-z_][\w./-]{0,127}=/y;
/** Matches the beginning of values that Go prints with `%#v`: `[]string{""}`, `map[string]int{…}`, `Key(node=a; name=b)`. */
const groupAt = /[&*]?[\w.*[\]]{0,128}(?=[{(])/y;

/** Reads a message, then ` key=value` in linear time (Calico lib/logrusr/formatter.go): strings quoted, errors bare, others as `%#v`. */
function createLogrusText(text: string, from: number) {
  let at = from;
  /** From here on no quote is closed, so a quote is a character like any other. */
  let quotesEnd = text.length;
  let groupsClose = true;

  return {
    readMessage(): string {
      at = endOfMessage();
      return text.slice(from, at).trimEnd();
    },
    readFields(fields: Pick<RecordFields, 'add'>): void {
      for (let end = keyEnd(at); end > 0; end = keyEnd(at)) {
        const key = text.slice(at + 1, end - 1);
        at = end;
        fields.add(key, takeValue());
      }
    },
  };

  /** Returns where the message ends. Keys in brackets do not count: `HostBGPConfig(node=node-a; name=ip_addr_v4)`. */
  function endOfMessage(): number {
    let depth = 0;
    for (let i = from; i < text.length; i++) {
      const char = text[i];
      if (char === '"') i = skipQuoted(i) - 1;
      else if (char === '(') depth++;
      else if (char === ')') depth = Math.max(0, depth - 1);
      // A key before a space, `established= 0`, is part of the message.
      else if (char === ' ' && depth === 0 && keyEnd(i) > 0 && text[keyEnd(i)] !== ' ') return i;
    }
    return text.length;
  }

  function takeValue(): string {
    const begin = at;
    // Go prints a pointer to a string with a star before the quote.
    const quote = text[at] === '*' ? at + 1 : at;
    if (text[quote] === '"') {
      const end = endOfQuoted(text, quote);
      if (end < 0 || end === text.length || text[end] === '\n' || keyEnd(end) > 0) {
        at = end < 0 ? text.length : end;
        return decodeQuoted(text.slice(quote + 1, end < 0 ? undefined : end - 1), errorLimit);
      }
    }
    at = endOfPlain(endOfOpening(at));
    return text.slice(begin, at);
  }

  function endOfOpening(i: number): number {
    groupAt.lastIndex = i;
    const end = groupsClose && groupAt.test(text) ? endOfGroup(text, groupAt.lastIndex) : i;
    // After one group without an end, do not search again, because each search reads the whole text.
    groupsClose &&= end >= 0;
    return Math.max(i, end);
  }

  function endOfPlain(begin: number): number {
    for (let i = begin; i < text.length; i++) {
      if (text[i] === '"') i = skipQuoted(i) - 1;
      else if (text[i] === ' ' && keyEnd(i) > 0) return i;
    }
    return text.length;
  }

  /** Returns the end of the string that this quote opens; if it is not closed, the end of the quote. */
  function skipQuoted(i: number): number {
    const end = i < quotesEnd ? endOfQuoted(text, i) : -1;
    if (end < 0) quotesEnd = Math.min(quotesEnd, i);
    return end < 0 ? i + 1 : end;
  }

  /** Returns where the value begins if this is the space before a key; otherwise 0. */
  function keyEnd(i: number): number {
    keyAt.lastIndex = i;
    return keyAt.test(text) ? keyAt.lastIndex : 0;
  }
}
