import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Gives a process, which leads a session of its own, that nice value. What else runs on the machine then costs it little: what is measured is
 * what the attacker does to it. Where the kernel groups processes by their sessions, a nice value of a process holds within its group only.
 */
export function setPrecedence(pid: number, nice: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice);
  const group = `/proc/${pid}/autogroup`;
  if (existsSync(group)) writeFileSync(group, String(nice));
}

/** The same for a command, which becomes `$@` of a shell that leads a session: see `enter` in limited-agent.ts. */
export const takePrecedence = '[ ! -e /proc/self/autogroup ] || echo -10 > /proc/self/autogroup';
