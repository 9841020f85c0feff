import type { Millis } from '../../../model/log-line.ts';
import type { ProgramLog } from '../../../sources/program-log/find-logs.ts';
import { ago } from '../ago.ts';
import { answersOf, type Check } from '../check.ts';
import type { ProgramLogLook } from '../program-log.ts';
import { sourceName } from './settings.ts';

/** Whether the log that a program writes itself is there and can be read. */
export function checkProgramSource(log: ProgramLog, look: ProgramLogLook, present: Millis): Check {
  const { ok, problem, warning } = answersOf(`source ${sourceName({ kind: 'program', ...log })}`);
  switch (look.kind) {
    case 'written':
      return ok(`${log.path}: last written ${ago(look.at, present)}`);
    case 'missing':
      return warning(look.reason, 'check the path in SOURCES, and that its folder is mounted');
    case 'unreadable':
      return problem(look.reason, 'name the log file itself, and let the user of the agent read it');
    default:
      return look satisfies never;
  }
}
