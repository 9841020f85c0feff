import { accessSync, closeSync, constants, fstatSync, openSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Millis } from '../model.ts';
import { type AgentState } from '../state/agent-state.ts';
import { loadState } from '../state/state-file.ts';
import { reasonOf } from '../system-error.ts';

/** What there is of the agent's memory. */
export type KeptState =
  | { kind: 'none' }
  | { kind: 'kept'; saved: Millis; node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined }
  | { kind: 'unusable' | 'unreadable'; reason: string };

export type StateFolder = { kind: 'writable' | 'missing'; free: number } | { kind: 'refused'; reason: string };

/** Looks at a state file and leaves it as it is, whatever is in it. Never throws. */
export function readKeptState(file: string): KeptState {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // `loadState` moves away what it cannot use; the name of an open file in /proc cannot be moved.
    const loaded = loadState(`/proc/self/fd/${fd}`, new Date());
    if (loaded.kind === 'none') return { kind: 'unreadable', reason: 'there is no /proc to read it through' };
    if (loaded.kind !== 'restored') return { kind: loaded.kind, reason: loaded.reason };
    return { kind: 'kept', saved: fstatSync(fd).mtimeMs, ...contentOf(loaded.state) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'none' };
    return { kind: 'unreadable', reason: reasonOf(error) };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** What another version has written may lack any part. */
function contentOf(state: unknown): { node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined } {
  const { node = '', series } = state as Partial<AgentState>;
  const all = [...(series?.series ?? []), ...(series?.past ?? [])];
  const drops = all.filter(({ finding }) => finding.story.kind !== 'incident');
  return {
    node,
    lastDrop: latest(drops.map(({ last }) => last)),
    lastEvent: latest(all.flatMap(({ published }) => (published.writes > 0 ? (published.at ?? []) : []))),
  };
}

function latest(times: readonly Millis[]): Millis | undefined {
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b));
}

/** Whether a folder, or what it would be made in, can be written to. Writes nothing. Never throws. */
export function lookAtFolder(path: string): StateFolder {
  try {
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
