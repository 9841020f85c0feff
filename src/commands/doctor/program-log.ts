import { accessSync, constants, statSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import { lookAt, readingAdviceOn } from '../../sources/tail/open-log.ts';

/** The log file of a program: when it was last written to, or why it cannot be read. */
export type ProgramLogLook = { kind: 'written'; at: Millis } | { kind: 'missing' | 'unreadable'; reason: string };

/** Opens nothing. Never throws. */
export function lookAtProgramLog(path: string): ProgramLogLook {
  const there = lookAt(path);
  if ('kind' in there) return { kind: there.kind === 'missing' ? 'missing' : 'unreadable', reason: there.text };
  try {
    accessSync(path, constants.R_OK);
    return { kind: 'written', at: statSync(path).mtimeMs };
  } catch (error) {
    return { kind: 'unreadable', reason: `${path} cannot be read: ${readingAdviceOn(error)}` };
  }
}
