/** The state folder, and the logs of containers and programs, as they lie on disk. Opens no log, writes nothing, never throws. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ContainerName, containerOf } from '../../log-formats/container-path.ts';
import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import {
  type ContainerRule,
  createContainerMatcher,
  createDiscovery,
  folders,
  lookAt,
  readingAdviceOn,
} from '../../sources/sources.ts';
import { type AgentState, findState, lastTimes, unusableReason } from '../../state/state.ts';

export type KeptState =
  | { kind: 'none' }
  | { kind: 'kept'; saved: Millis; node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined }
  | { kind: 'unusable' | 'unreadable'; reason: string };

/** Looks at the state in a folder and leaves it as it is, whatever is in it. */
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

export type StateFolder = { kind: 'writable' | 'missing'; free: number } | { kind: 'refused'; reason: string };

/** Looks whether a folder, or what it would be made in, can be written to. */
export function lookAtFolder(path: string): StateFolder {
  try {
    if (!statSync(path).isDirectory()) return { kind: 'refused', reason: `${path}: is no folder` };
    accessSync(path, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(path);
    return { kind: 'writable', free: bavail * bsize };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || path === '/')
      return { kind: 'refused', reason: `${path}: ${code === 'EROFS' ? 'it is mounted read-only' : reasonOf(error)}` };
    const above = lookAtFolder(dirname(path));
    return above.kind === 'refused' ? above : { ...above, kind: 'missing' };
  }
}

export interface ContainerLogFile extends ContainerName {
  path: string;
  /** The time of the last write, or why it cannot be read. */
  state: { written: Millis } | { reason: string };
}

/** The logs of containers that the agent would read, the latest of each container. */
export type ContainerLook =
  | { kind: 'missing' }
  | { kind: 'error'; reason: string }
  | { kind: 'logs'; logs: readonly ContainerLogFile[] };

export function lookAtContainers(root: string, rules: readonly ContainerRule[]): ContainerLook {
  const matcher = createContainerMatcher(rules);
  const { root: state, found, unreadable } = createDiscovery({ root, matcher, from: 'end', folders }).look(true);
  if (state === 'missing') return { kind: 'missing' };
  if (typeof state === 'object') return { kind: 'error', reason: `${root}: ${reasonOf(state.error)}` };
  const [first] = unreadable;
  if (first !== undefined) return { kind: 'error', reason: `${first.path}: ${reasonOf(first.error)}` };
  const logs = [...found.values()].flatMap(({ key, isOlder, isThere }) => {
    const name = containerOf(key);
    const path = `${root}/${key}`;
    return name === undefined || isOlder || !isThere ? [] : [{ ...name, path, state: writtenAt(path, reasonOf) }];
  });
  return { kind: 'logs', logs };
}

export type ProgramLogLook = { kind: 'written'; at: Millis } | { kind: 'missing' | 'unreadable'; reason: string };

export function lookAtProgramLog(path: string): ProgramLogLook {
  const there = lookAt(path);
  if ('kind' in there) return { kind: there.kind === 'missing' ? 'missing' : 'unreadable', reason: there.text };
  const state = writtenAt(path, (error) => `${path} cannot be read: ${readingAdviceOn(error)}`);
  return 'written' in state ? { kind: 'written', at: state.written } : { kind: 'unreadable', ...state };
}

/** Entries of /var/log/pods are often links into folders of the runtime, which may be shut. */
function writtenAt(path: string, reason: (error: unknown) => string): { written: Millis } | { reason: string } {
  try {
    accessSync(path, constants.R_OK);
    return { written: statSync(path).mtimeMs };
  } catch (error) {
    return { reason: reason(error) };
  }
}
