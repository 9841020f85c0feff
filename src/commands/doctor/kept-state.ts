import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Millis } from '../../model/log-line.ts';
import { type AgentState, findState, lastTimes, unusableReason } from '../../state/state.ts';
import { reasonOf } from '../../platform/system-error.ts';

/** What there is of the agent's memory. */
export type KeptState =
  | { kind: 'none' }
  | { kind: 'kept'; saved: Millis; node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined }
  | { kind: 'unusable' | 'unreadable'; reason: string };

export type StateFolder = { kind: 'writable' | 'missing'; free: number } | { kind: 'refused'; reason: string };

/** Looks at the state in a folder and leaves it as it is, whatever is in it. Never throws. */
export function readKeptState(folder: string): KeptState {
  try {
    const found = findState(folder);
    if (found === undefined) return { kind: 'none' };
    const reason = unusableReason(found);
    if (reason !== undefined) return { kind: 'unusable', reason };
    const { node, series } = found.state as AgentState;
    return { kind: 'kept', saved: found.saved, node, ...lastTimes(series) };
  } catch (error) {
    return { kind: 'unreadable', reason: reasonOf(error) };
  }
}

/** Whether a folder, or what it would be made in, can be written to. Writes nothing. Never throws. */
export function lookAtFolder(path: string): StateFolder {
  try {
    if (!statSync(path).isDirectory()) return { kind: 'refused', reason: `${path}: is no folder` };
    accessSync(path, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(path);
    return { kind: 'writable', free: bavail * bsize };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    if (!isMissing || path === '/') return { kind: 'refused', reason: `${path}: ${folderReason(error)}` };
    const above = lookAtFolder(dirname(path));
    return above.kind === 'refused' ? above : { ...above, kind: 'missing' };
  }
}

function folderReason(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'EROFS' ? 'it is mounted read-only' : reasonOf(error);
}
