/** What decides which lines without a header belong to a record. */
export type RecordKind = 'klog' | 'other';

/** `E1121 02:04:30.836390   20506 proxier.go:1564] ` (k8s.io/klog, formatHeader); copies lose spaces before the thread. */
const klog = /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,20}(?:\s{1,8}\d{1,10})?\s[^\s:]{1,256}:\d{1,9}\]/;
/**
 * JSON; the stamps of logrus (`2026-11-21 10:00:00.000 [INFO][77] felix/…`), of svlogd and of others that write ISO 8601;
 * logrus without a terminal (`time="…`); bird, which writes no stamp.
 */
const other = /^(?:\{|\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d|time="|bird6?: )/;

/**
 * Latin1; what stands before or in fatal records of klog that journald (as JSON) and a syslog have: their first letter is all that
 * makes them so, and no word of theirs need be known.
 */
export const fatalNeedles: readonly string[] = ['"MESSAGE":"F', 'kube-proxy['];

/** Whether klog ends its program with this record. */
export function isFatal(text: string): boolean {
  return text.startsWith('F') && klog.test(text);
}

/** Undefined for a line that does not begin a record. */
export function headerOf(text: string): RecordKind | undefined {
  if (klog.test(text)) return 'klog';
  return other.test(text) ? 'other' : undefined;
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
