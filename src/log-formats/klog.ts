/** What klog writes before a message (k8s.io/klog internal/buffer, FormatHeader), and the stamp of its JSON. */

/** `E1121 02:04:30.836390   20506 proxier.go:16] `. Scans of screens lose the space before the thread. */
const header =
  /^([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(\.\d{1,20})(?:\s{1,8}\d{1,10})?\s([^\s:\]]{1,256}):\d{1,9}\][ \t]?/;

export interface KlogHeader {
  length: number;
  severity: string;
  /** Month from 1 on, date, hours, minutes, seconds, fraction: klog writes no year. */
  stamp: readonly [month: string, date: number, hours: number, minutes: number, seconds: number, fraction: string];
  /** `proxier.go`, in some programs with its folder. */
  path: string;
}

export function readKlogHeader(text: string): KlogHeader | undefined {
  const found = header.exec(text);
  if (found === null) return undefined;
  const [whole, severity = '', month = '', date, hours, minutes, seconds, fraction = '', path = ''] = found;
  const stamp = [month, Number(date), Number(hours), Number(minutes), Number(seconds), fraction] as const;
  return { length: whole.length, severity, stamp, path };
}

export function hasKlogHeader(text: string): boolean {
  return header.test(text);
}

/** `{"ts":1795226670836.5308,"caller":…` (component-base logs/json): milliseconds. Undefined for other JSON. */
export function klogJsonTime(text: string): number | undefined {
  const time = /^\{\s{0,8}"ts"\s{0,8}:\s{0,8}(\d{12,13}(?:\.\d{1,9})?)[,}\s]/.exec(text)?.[1];
  return time === undefined ? undefined : Number(time);
}
