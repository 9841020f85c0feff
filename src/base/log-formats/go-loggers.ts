/**
 * Reads the headers of loggers of Go: klog (k8s.io/klog internal/buffer, FormatHeader), and logrus in the format of Calico
 * (lib/logrusr/formatter.go) or as pairs without a terminal.
 */
import { stamp } from './rfc3339.ts';

/** Matches `E1121 02:04:30.836390   20506 proxier.go:16] `. In text from a screenshot, the space before the thread may be missing. */
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
  const fields = [month, Number(date), Number(hours), Number(minutes), Number(seconds), fraction] as const;
  return { length: whole.length, severity, stamp: fields, path };
}

export function hasKlogHeader(text: string): boolean {
  return header.test(text);
}

/** Reads `{"ts":1795226670836.5308,"caller":…` (component-base logs/json), which has milliseconds. Undefined for other JSON. */
export function klogJsonTime(text: string): number | undefined {
  const time = /^\{\s{0,8}"ts"\s{0,8}:\s{0,8}(\d{12,13}(?:\.\d{1,9})?)[,}\s]/.exec(text)?.[1];
  return time === undefined ? undefined : Number(time);
}

/** Matches `[WARNING][56] felix/table.go 654: `, which follows the stamp. */
const calico = /^\[([A-Z]{4,8})\]\[\d{1,10}(?:\/\d{0,20})?\] (\S{1,256}) \S{1,16}: ?/;

export interface LogrusHeader {
  length: number;
  level: string;
  file: string;
}

/** The stamp before the header may be missing, because it may have been removed as an envelope. */
export function readLogrusHeader(text: string): LogrusHeader | undefined {
  const stamped = stamp.exec(text);
  const from = stamped === null ? 0 : stamped[0].length + 1;
  const found = calico.exec(text.slice(from));
  if (found === null) return undefined;
  const [whole, level = '', file = ''] = found;
  return { length: from + whole.length, level, file };
}

export function hasLogrusPairs(text: string): boolean {
  return /^time="[^"]{1,64}" level=/.test(text);
}
