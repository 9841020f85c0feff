import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Gives this nice value to a process that leads a session of its own. Then other programs on the machine cost it
 * little, and the measurement shows what the attacker does to it. If the kernel groups processes by session, a
 * process's nice value counts only within its group.
 */
export function setPrecedence(pid: number, nice: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), nice);
  const group = `/proc/${pid}/autogroup`;
  if (existsSync(group)) writeFileSync(group, String(nice));
}

/** The same for a command, which becomes `$@` of a shell that leads a session: see `enter` in limited-agent.ts. */
export const takePrecedence = '[ ! -e /proc/self/autogroup ] || echo -10 > /proc/self/autogroup';
