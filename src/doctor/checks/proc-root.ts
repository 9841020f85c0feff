import { type Check, ok, warning } from '../check.ts';
import type { ReadFile } from './kernel-switches.ts';

/** Whether PROC_ROOT leads to a /proc; no line where nobody has set it. */
export function checkProcRoot(procRoot: string, readFile: ReadFile): Check[] {
  const name = 'proc-root';
  if (procRoot === '/proc') return [];
  // Everybody may read it, and nothing but a /proc has it.
  const version = readFile(`${procRoot}/sys/kernel/osrelease`);
  if (version !== undefined) return [ok(name, `${procRoot} is there (Linux ${version})`)];
  return [
    warning(
      name,
      `${procRoot} is no /proc, or cannot be read: incidents do not tell who fills the connection tracking table`,
      "mount the host's /proc there, read-only (deploy/components/conntrack-details), or leave PROC_ROOT out",
    ),
  ];
}
