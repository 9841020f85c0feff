import { accessSync, constants, statSync } from 'node:fs';
import type { Millis } from '../../model/log-line.ts';
import { createDiscovery } from '../../sources/kubelet/discovery.ts';
import { type ContainerName, containerOf } from '../../log-formats/container-path.ts';
import { type ContainerRule, createContainerMatcher } from '../../sources/kubelet/rules.ts';
import { folders } from '../../sources/kubelet/watched-folder.ts';
import { reasonOf } from '../../platform/system-error.ts';

export interface ContainerLogFile extends ContainerName {
  path: string;
  /** When it was last written to, or why it cannot be read. */
  state: { written: Millis } | { reason: string };
}

/** The logs of containers that the agent would read, the latest of each container. */
export type ContainerLook =
  | { kind: 'missing' }
  | { kind: 'error'; reason: string }
  | { kind: 'logs'; logs: ContainerLogFile[] };

/** Never throws. */
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
    return name === undefined || isOlder || !isThere ? [] : [{ ...name, path, state: stateOf(path) }];
  });
  return { kind: 'logs', logs };
}

function stateOf(path: string): ContainerLogFile['state'] {
  try {
    accessSync(path, constants.R_OK);
    return { written: statSync(path).mtimeMs };
  } catch (error) {
    // Entries of /var/log/pods are often links into folders of the runtime.
    return { reason: reasonOf(error) };
  }
}
