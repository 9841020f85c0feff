import { hasKlogHeader } from '../../log-formats/klog.ts';
import { hasLogrusPairs } from '../../log-formats/logrus.ts';
import { stamp } from '../../log-formats/rfc3339.ts';

/** What decides which lines without a header belong to a record. */
export type RecordKind = 'klog' | 'other';

/**
 * Latin1; what stands before or in fatal records of klog that journald (as JSON) and a syslog have: their first letter is all that
 * makes them so, and no word of theirs need be known.
 */
export const fatalNeedles: readonly string[] = ['"MESSAGE":"F', 'kube-proxy['];

/** Whether klog ends its program with this record. */
export function isFatal(text: string): boolean {
  return text.startsWith('F') && hasKlogHeader(text);
}

/**
 * Undefined for a line that does not begin a record. JSON does, the stamps of logrus, of svlogd and of others that write ISO 8601,
 * logrus without a terminal, and bird, which writes no stamp.
 */
export function headerOf(text: string): RecordKind | undefined {
  if (hasKlogHeader(text)) return 'klog';
  const isOther = text.startsWith('{') || stamp.test(text) || hasLogrusPairs(text) || /^bird6?: /.test(text);
  return isOther ? 'other' : undefined;
}

/**
 * Whether a line without a header belongs to the record before it. klog prints values of several lines with a tab, four
 * spaces, or in older releases as they are.
 */
export function continues(kind: RecordKind, text: string): boolean {
  return kind === 'klog' || text.startsWith(' ') || text.startsWith('\t');
}

/** ` > ipFamily="IPv4"` is the last line of a klog record, unless it opens the next value of several lines: ` > rules=<`. */
export function closes(kind: RecordKind, text: string): boolean {
  return kind === 'klog' && /^ >(?: |$)/.test(text) && !/=<?$/.test(text);
}

/** klog begins a value of several lines so; what matters may stand in them. */
export const opensBlock = '=<';
