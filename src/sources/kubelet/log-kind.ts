import { readRecord } from '../../log-formats/cri.ts';
import { hasKlogHeader, hasLogrusPairs, klogJsonTime, readLogrusHeader } from '../../log-formats/go-loggers.ts';
import { withoutMarks } from './saved-text.ts';

/** Lines of bird, and texts that no stamp stands before. */
const beginnings: readonly RegExp[] = [
  /^(?:\d{4}-\d\d-\d\d[_ ]\d\d:\d\d:\d\d(?:\.\d{1,9})? )?bird6?: /,
  /^calico\/node is not ready: /,
  /^panic: \(\*logrus\.Entry\)/,
];

/** A priority; a stamp of syslog, of asctime, of dmesg, of /dev/kmsg; the kernel's name. */
const logDaemon =
  /^(?:<\d{1,3}>|[A-Z][a-z]{2} [\d ]?\d \d\d:\d\d:\d\d|[A-Z][a-z]{2} (?:[A-Z][a-z]{2} [\d ]?\d|\d{4}-\d\d-\d\d) \d\d:\d\d:\d\d|\[ {0,12}\d{1,10}\.\d{1,9}\]|\d{1,10},\d{1,20},\d{1,20},|(?:kern\s{0,4}:\s{0,4}\w{1,8}\s{0,4}: |kernel: ))/;
/** Matches what follows a stamp of RFC 3339 in a syslog: a host and a program. */
const hostAndProgram = /^[\w.:-]{1,255} [\w./-]{1,64}(?:\[\d{1,10}\])?: /;
/** `journalctl -o json`; packets that a container repeats or logs itself. */
const journal = /^\{.{0,65536}"(?:MESSAGE|__REALTIME_TIMESTAMP)"\s{0,4}:/;
const packets =
  /(?:^|[^A-Za-z_])IN=\S{0,64} |acl_log\(|PolicyVerdict|"Flow Info|AntreaPolicy|"oob\.|"flow":\{"|"lost_events":\{|"disposition":"/;

/** `program`: kube-proxy or calico-node; `container`: another container; `other`: a log daemon, or a writer of packets. */
export function kindOfLine(line: string): 'program' | 'container' | 'other' | undefined {
  const record = readRecord(line);
  const { time, text } = record ?? withoutMarks(line);
  if (isProgram(text)) return 'program';
  if (logDaemon.test(text) || journal.test(text) || packets.test(text)) return 'other';
  if (record !== undefined) return 'container';
  return time !== undefined && hostAndProgram.test(text) ? 'other' : undefined;
}

function isProgram(text: string): boolean {
  if (hasKlogHeader(text) || klogJsonTime(text) !== undefined || hasLogrusPairs(text)) return true;
  if (!text.startsWith('[') && readLogrusHeader(text) !== undefined) return true;
  return beginnings.some((beginning) => beginning.test(text));
}
