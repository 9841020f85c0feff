import type { ProgramRecord } from '../../model/program-record.ts';
import { createFields } from './fields.ts';
import { newRecord, type Severity } from './record.ts';
import type { Tag } from './tag.ts';

/** `bird: BGP: …` on a terminal (BIRD sysdep/unix/log.c), behind svlogd's stamp in calico-node; `… <WARN> BGP: …` in a file. */
const named = /^(?:\d{4}-\d\d-\d\d[_ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z? )?bird6?: (?:<([A-Z]{3,5})> )?/;
const classed =
  /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:\[\d{1,6}\] )?<(DBG|TRACE|INFO|RMT|WARN|ERR|AUTH|FATAL|BUG)> /;

/** On a terminal bird writes no severity: such lines count as `info`. */
const severities: Readonly<Record<string, Severity>> = {
  DBG: 'debug',
  TRACE: 'debug',
  RMT: 'error',
  WARN: 'warning',
  ERR: 'error',
  AUTH: 'error',
  FATAL: 'fatal',
  BUG: 'fatal',
};

export function parseBird(text: string, tag: Tag): ProgramRecord | undefined {
  const found = named.exec(text) ?? classed.exec(text);
  const isBird = tag !== undefined && /^(?:calico-)?bird6?$/.test(tag);
  if (found === null && !isBird) return undefined;
  const severity = severities[found?.[1] ?? ''] ?? 'info';
  const message = text.slice(found?.[0].length ?? 0);
  return newRecord({ program: 'bird', severity, caller: '', message }, createFields());
}
