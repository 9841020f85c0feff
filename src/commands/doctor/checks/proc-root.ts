import { answersOf, type Check } from '../check.ts';
import type { ReadFile } from './kernel-switches.ts';

/** Whether PROC_ROOT leads to a /proc; no check where it is not set. */
export function checkProcRoot(procRoot: string, readFile: ReadFile): Check[] {
  const { ok, warning } = answersOf('proc-root');
  if (procRoot === '/proc') return [];
  // Of all that may be mounted there, what everybody may read; the second is all that conntrack-details has of the two.
  const files = ['sys/kernel/osrelease', 'sys/net/netfilter/nf_conntrack_max'];
  if (files.some((file) => readFile(`${procRoot}/${file}`) !== undefined)) return [ok(`${procRoot} is there`)];
  return [
    warning(
      `${procRoot} is no /proc, or cannot be read: incidents do not tell who fills the connection tracking table`,
      "mount there what deploy/components/conntrack-details mounts of the host's /proc, read-only, or leave PROC_ROOT out",
    ),
  ];
}
