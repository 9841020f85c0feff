import { join } from 'node:path';
import { rowsIn } from '../../corpus/lines.ts';

/*
 * Lines that only resemble errors: records of normal work with values that look like failures, such as names, comments and texts that come
 * from users, from the API server or from other programs.
 */

/** Error texts and names as they may occur in any field of any line. */
const values: readonly string[] = [
  'Another app is currently holding the xtables lock. Stopped waiting after 5s.',
  "iptables-restore v1.8.8 (legacy): Couldn't load target `KUBE-SVC-UOLAULR5MHUYULMB':No such file or directory",
  'Failed to execute iptables-restore',
  'nf_conntrack: table full, dropping packet',
  'BIRD is not ready: BGP not established with 10.0.0.2; Detected out-of-sync inserts, Sync failed',
];

const klog = (severity: string, place: string) => (message: string, value: string) =>
  `${severity}1121 09:00:00.910840       1 ${place}] "${message}" name=${JSON.stringify(value)} service="shop/web"`;
const klogOld = (severity: string, place: string) => (message: string, value: string) =>
  `${severity}1121 09:00:00.910840       1 ${place}] ${message}: ${value}`;
const logrus = (severity: string, place: string) => (message: string, value: string) =>
  `2026-11-21 09:00:00.942 [${severity}][56] ${place} 654: ${message} id=${JSON.stringify(value)} ipVersion=0x4`;
const bird = (message: string, value: string) => `bird: ${message}: ${value.split(';')[0]}`;
const coredns = (severity: string) => (message: string, value: string) => `[${severity}] ${message}: ${value}`;

type Write = (message: string, value: string) => string;

/** The shapes in nasty-lines.txt, by name. */
const shapes: Readonly<Record<string, (...words: string[]) => Write>> = {
  klog,
  klogOld,
  logrus,
  bird: () => bird,
  coredns,
};

/** Sixty of each program. */
export const nastyLines = rowsIn(join(import.meta.dirname, 'nasty-lines.txt')).map(({ id, text }) => {
  const texts = text.split('\n').flatMap((line) => {
    const [shape = '', message = ''] = line.split(' | ');
    const [name = '', ...words] = shape.split(' ');
    return values.map((value) => shapes[name]?.(...words)(message, value) ?? '');
  });
  return [id, texts] as const;
});
