import type { ProgramRecord } from '../../../base/model/program-record.ts';
import { parseHeadlessKlog, parseKlogJson, parseKlogText, unindent } from './klog.ts';
import {
  createFields,
  klogProgram,
  mayBeCalico,
  newRecord,
  type Severity,
  type Tag,
  takeTag,
  textLimit,
} from './record.ts';
import { parseLogrus, parseLogrusPairs } from './logrus.ts';
import type { Suppressed } from '../../../base/model/observation.ts';

const parsers: readonly ((text: string, tag: Tag) => ProgramRecord | undefined)[] = [
  parseKlogText,
  parseKlogJson,
  parseReadiness,
  parseLogrus,
  parseLogrusPairs,
  parseHeadlessKlog,
  parseFragment,
  parseBird,
];

/**
 * Returns undefined for programs other than kube-proxy and calico-node. Lines of a record are joined by `\n`. `program`: the writer in a
 * syslog, if it was removed from the text. Never throws; linear in the length of the text, of which only 64 KiB are read.
 */
export function parseProgramRecord(text: string, program?: string): ProgramRecord | undefined {
  const { tag, rest } = program === undefined ? takeTag(text.slice(0, textLimit)) : { tag: program, rest: text };
  const record = unescapeLines(rest.slice(0, textLimit));
  for (const parse of parsers) {
    const found = parse(record, tag);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns whether the text is a record, and not a line from the middle of one. */
export function isProgramRecord(text: string): boolean {
  const record = parseProgramRecord(text);
  return record !== undefined && record.message !== '';
}

/** Restores control characters. rsyslog writes them as `#012`, so that a record is one line. */
function unescapeLines(text: string): string {
  if (text.includes('\n') || !text.includes('#012')) return text;
  return text.replaceAll('#012', '\n').replaceAll('#011', '\t');
}

/** Match `bird: BGP: …` on a terminal (BIRD sysdep/unix/log.c), after svlogd's stamp in calico-node; and `… <WARN> BGP: …` in a file. */
const named = /^(?:\d{4}-\d\d-\d\d[_ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z? )?bird6?: (?:<([A-Z]{3,5})> )?/;
const classed =
  /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:\[\d{1,6}\] )?<(DBG|TRACE|INFO|RMT|WARN|ERR|AUTH|FATAL|BUG)> /;

/** The severities in bird's log. Lines that bird writes to a terminal have none, and count as `info`. */
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

function parseBird(text: string, tag: Tag): ProgramRecord | undefined {
  const found = named.exec(text) ?? classed.exec(text);
  const isBird = tag !== undefined && /^(?:calico-)?bird6?$/.test(tag);
  if (found === null && !isBird) return undefined;
  const severity = severities[found?.[1] ?? ''] ?? 'info';
  const message = text.slice(found?.[0].length ?? 0);
  return newRecord({ program: 'bird', severity, caller: '', message }, createFields());
}

const claim = 'calico/node is not ready';
const quoting = /^(?:Readiness|Liveness) probe (?:failed|errored): $/;

/** Reads calico-node's check of itself (node/pkg/health), also after lines of its parts: `calico/node is not ready: BIRD is …`. */
function parseReadiness(text: string): ProgramRecord | undefined {
  const at = text.indexOf(`${claim}: `);
  if (at < 0) return undefined;
  const before = text.slice(text.lastIndexOf('\n', at) + 1, at);
  if (before !== '' && !quoting.test(before)) return undefined;
  const fields = createFields();
  fields.addError(text.slice(at + claim.length + 2));
  return newRecord({ program: 'calico-node', severity: 'warning', caller: '', message: claim }, fields);
}

/** Matches beginnings of lines of iptables, nft and kube-proxy's own lock. They occur in the error of a record of several lines. */
const beginning =
  /^(?:exit status \d{1,3}: |(?:ip6?tables(?:-legacy|-nft)?-restore)(?: v[\d.]{1,16} \((?:legacy|nf_tables)\)|: line \d{1,9} failed)|\/dev\/stdin:\d{1,9}:[\d-]{1,20}: Error: |Can't (?:lock|open lock file) \/run\/xtables|Another app is currently holding the xtables lock)/;

/** Reads one line from the middle of kube-proxy's record, because a syslog splits records of several lines. Its message is empty. */
function parseFragment(text: string, tag: Tag): ProgramRecord | undefined {
  if (!beginning.test(text.slice(0, 256).trimStart())) return undefined;
  const fields = createFields();
  fields.addError(unindent(text).trimStart());
  return newRecord({ program: klogProgram(tag, ''), severity: 'error', caller: '', message: '' }, fields);
}

/** Reads `... dropped 104 logs ...`. felix drops lines if the reader of its log is slow (Calico lib/logutils, NewStreamDestination). */
export function parseDroppedLogs(text: string, tag: Tag): Suppressed | undefined {
  const found = /^\.\.\. dropped (\d{1,10}) logs \.\.\.\s{0,2}$/.exec(text);
  if (found === null || !mayBeCalico(tag)) return undefined;
  return { kind: 'suppressed', by: 'felix', count: Number(found[1]), affects: 'felix' };
}
