import type { ProgramRecord } from '../../model/program-record.ts';
import { parseBird } from './bird.ts';
import { parseFragment } from './fragment.ts';
import { parseKlogJson } from './klog-json.ts';
import { parseHeadlessKlog, parseKlogText } from './klog-text.ts';
import { textLimit } from './limits.ts';
import { parseLogrus, parseLogrusPairs } from './logrus.ts';
import { parseReadiness } from './readiness.ts';
import { type Tag, takeTag } from './tag.ts';

/** In order: the first that does not answer `undefined` has the text. */
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
 * The record's lines are kept apart by `\n`. `program`: the name that a syslog gave the writer, if it is off the text already.
 * Never throws; linear in the length of the text, of which the first 64 KiB count. Undefined for what neither program writes.
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

/** rsyslog writes control characters as `#012`, so that a record is one line. */
function unescapeLines(text: string): string {
  if (text.includes('\n') || !text.includes('#012')) return text;
  return text.replaceAll('#012', '\n').replaceAll('#011', '\t');
}
