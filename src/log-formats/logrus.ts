/** What logrus writes before a message: in the format of Calico (lib/logrusr/formatter.go), and as pairs where there is no terminal. */
import { stamp } from './rfc3339.ts';

/** `[WARNING][56] felix/table.go 654: `, behind the stamp. */
const calico = /^\[([A-Z]{4,8})\]\[\d{1,10}(?:\/\d{0,20})?\] (\S{1,256}) \S{1,16}: ?/;

export interface LogrusHeader {
  length: number;
  level: string;
  file: string;
}

/** `2026-11-21 10:00:00.000 [WARNING][56] felix/table.go 654: `, of which a reader of envelopes takes the stamp. */
export function readLogrusHeader(text: string): LogrusHeader | undefined {
  const stamped = stamp.exec(text);
  const from = stamped === null ? 0 : stamped[0].length + 1;
  const found = calico.exec(text.slice(from));
  if (found === null) return undefined;
  const [whole, level = '', file = ''] = found;
  return { length: from + whole.length, level, file };
}

/** `time="2026-11-21T10:00:00Z" level=warning msg="…"` */
export function hasLogrusPairs(text: string): boolean {
  return /^time="[^"]{1,64}" level=/.test(text);
}
