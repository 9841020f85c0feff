/** Looks at the state folder, and at logs of containers, programs and data planes. Opens no log, writes nothing, never throws. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { documentAt } from '../../config/docs-url.ts';
import { type ContainerName, containerOf } from '../../log-formats/container-path.ts';
import type { Millis } from '../../model/log-line.ts';
import { reasonOf } from '../../platform/system-error.ts';
import type { ContainerRule } from '../../sources/reading.ts';
import { createLogFinder, lookAt, readingAdviceOn } from '../../sources/sources.ts';
import { type AgentState, findState, lastTimes, unusableReason } from '../../state/state.ts';

export type SavedState =
  | { kind: 'none' }
  | { kind: 'kept'; saved: Millis; node: string; lastDrop: Millis | undefined; lastEvent: Millis | undefined }
  | { kind: 'unusable' | 'unreadable'; reason: string };

/** Reads the saved state in a folder, and does not change it. */
export function readKeptState(folder: string): SavedState {
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

/** Checks whether a folder can be written to. If it does not exist, checks the folder in which it would be made. */
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

/** The latest log of each container that the agent would read. */
export type ContainerLook =
  | { kind: 'missing' }
  | { kind: 'error'; reason: string }
  | { kind: 'logs'; logs: readonly ContainerLogFile[] };

export function lookAtContainers(root: string, rules: readonly ContainerRule[]): ContainerLook {
  const { root: state, found, unreadable } = createLogFinder(root, rules)();
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

/** Returns when a file was last written, if it can be read. In /var/log/pods it is often a link into a folder that cannot be read. */
function writtenAt(path: string, reason: (error: unknown) => string): { written: Millis } | { reason: string } {
  try {
    accessSync(path, constants.R_OK);
    return { written: statSync(path).mtimeMs };
  } catch (error) {
    return { reason: reason(error) };
  }
}

/** The files in which data planes log dropped packets, each with how to turn it on. */
const switches: ReadonlyMap<string, readonly [text: string, page: `docs/${string}`]> = new Map([
  [
    '/run/cilium/hubble/events.log',
    ["turn the export of Cilium's Hubble on, and mount that folder of the node", 'docs/logging/cilium.md'],
  ],
  [
    '/var/log/acns/hubble/events.log',
    ['create a ContainerNetworkLog: AKS writes nothing before', 'docs/networks/aks.md'],
  ],
  [
    '/var/log/network/policy_action.log',
    ['turn network policy logging on: GKE writes nothing before', 'docs/networks/gke.md'],
  ],
]);

/** Says how to turn on a log of a data plane, given as a path or as a source `file:PATH`; undefined for other files. */
export function switchOf(source: string): string | undefined {
  const found = switches.get(withoutLink(source.replace(/^file:/, '')));
  return found && `${found[0]}; doctor --enable-logging prints how, and ${documentAt(found[1])} explains it`;
}

/** Lists the existing logs of data planes that are not read. */
export function findUnread(read: readonly string[]): string[] {
  const known = new Set(read.map(withoutLink));
  return [...switches.keys()].filter((path) => !known.has(path) && lookAtProgramLog(path).kind === 'written');
}

/** Replaces /var/run by /run, because it is a link to it on every node. */
function withoutLink(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/');
}
