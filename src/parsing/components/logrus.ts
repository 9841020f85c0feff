import { hasLogrusPairs, readLogrusHeader } from '../../log-formats/logrus.ts';
import type { ProgramRecord } from '../../model/program-record.ts';
import { createFields } from './fields.ts';
import { createLogrusText } from './logrus-values.ts';
import { newRecord, type Severity } from './record.ts';
import { logrusProgram, mayBeCalico, type Tag } from './tag.ts';

/** Calico's header in a syslog, `WARNING table.go 654: `; copied without its beginning, `felix/table.go 654: `. */
const shortened = [
  /^(?<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|PANIC|CRITICAL) (?<file>\S{1,253}\.go) \S{1,16}: ?/,
  /^(?<file>[\w-]{1,64}\/[\w.-]{1,128}\.go) \d{1,9}: ?/,
];

/** Felix as people quote it, without any header. */
const bare = /^(?:Failed to execute ip\(6\)tables-restore command|Failed to program (?:ip|nf)tables,) /;

/** How logrus panics: it prints the address of the record, which has been written just before. */
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

/** `time="2026-11-21T10:00:00Z" level=warning msg="…" error="…"`: logrus without a terminal. */
export function parseLogrusPairs(text: string, tag: Tag): ProgramRecord | undefined {
  // k3s, containerd and many others write the same.
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
