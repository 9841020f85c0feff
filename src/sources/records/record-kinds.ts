import { hasKlogHeader, hasLogrusPairs } from '../../log-formats/go-loggers.ts';
import { stamp } from '../../log-formats/rfc3339.ts';

export type RecordKind = 'klog' | 'other';

/** Latin1; stands before or in fatal klog records of journald (as JSON) and a syslog: only their first letter makes them so. */
export const fatalNeedles: readonly string[] = ['"MESSAGE":"F', 'kube-proxy['];

export function isFatal(text: string): boolean {
  return text.startsWith('F') && hasKlogHeader(text);
}

/** Undefined for a line that begins no record. bird writes no stamp, logrus none without a terminal. */
export function headerOf(text: string): RecordKind | undefined {
  if (hasKlogHeader(text)) return 'klog';
  const isOther = text.startsWith('{') || stamp.test(text) || hasLogrusPairs(text) || /^bird6?: /.test(text);
  return isOther ? 'other' : undefined;
}

/** Whether a line without a header goes on with the record. klog puts a tab or four spaces before it, older releases nothing. */
export function continues(kind: RecordKind, text: string): boolean {
  return kind === 'klog' || text.startsWith(' ') || text.startsWith('\t');
}

/** ` > ipFamily="IPv4"` is the last line of a klog record, unless it opens the next value of several lines: ` > rules=<`. */
export function closes(kind: RecordKind, text: string): boolean {
  return kind === 'klog' && /^ >(?: |$)/.test(text) && !/=<?$/.test(text);
}

/** klog begins a value of several lines so; what matters may stand in them. */
export const opensBlock = '=<';
