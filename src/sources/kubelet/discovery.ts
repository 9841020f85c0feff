import { readdirSync, statSync } from 'node:fs';
import { podOf, type PodName } from '../../log-formats/container-path.ts';
import type { ContainerMatcher } from './rules.ts';

type From = 'start' | 'end';

export interface FoundLog {
  key: string;
  /** Where to begin. Logs that are found at the very first scan are old. */
  from: From;
  /** False if only rotated parts of the log are left. */
  isThere: boolean;
  isOlder: boolean;
}

export interface Look {
  root: 'read' | 'missing' | { error: unknown };
  found: Map<string, FoundLog>;
  /** Folders below the root that cannot be read. Their contents are unknown. */
  unreadable: { path: string; error: unknown }[];
}

export interface DiscoveryOptions {
  root: string;
  matcher: ContainerMatcher;
  from: From;
  folders: Folders;
}

interface Known<Child> {
  folder: ReturnType<typeof createFolderWatch>;
  path: string;
  from: From;
  children: Map<string, Child>;
}
type Container = Known<{ from: From; isThere: boolean }>;
type Pod = Known<Container> & { name: PodName };

/** Finds logs in the kubelet's layout, `<root>/<namespace>_<pod>_<uid>/<container>/<n>.log`. */
export function createDiscovery({ root, matcher, from, folders }: DiscoveryOptions) {
  const pods: Known<Pod> = newFolder(root, from);

  return {
    /** Scans the folders. `again`: lists them even if they seem unchanged. Never throws. */
    look(again: boolean): Look {
      const look: Look = { root: 'read', found: new Map(), unreadable: [] };
      const list = pods.folder.look(again);
      if (list.kind === 'missing') {
        forget(pods);
        return { ...look, root: 'missing' };
      }
      if (list.kind === 'error') return { ...look, root: { error: list.error } };
      if (list.kind === 'names') update(pods, list.names.filter(isMeant), newPod);
      for (const pod of pods.children.values()) lookInto(pod, look, again);
      return look;
    },
  };

  function newFolder<Child>(path: string, begin: From): Known<Child> {
    return { folder: createFolderWatch(path, folders), path, from: begin, children: new Map<string, Child>() };
  }

  function isMeant(name: string): boolean {
    const pod = podOf(name);
    return pod !== undefined && matcher.pod(pod);
  }

  function newPod(name: string): Pod {
    return { ...newFolder<Container>(`${root}/${name}`, pods.from), name: podOf(name) as PodName };
  }

  function lookInto(pod: Pod, look: Look, again: boolean): void {
    const list = pod.folder.look(again);
    if (list.kind === 'missing') return forget(pod);
    if (list.kind === 'error') look.unreadable.push({ path: pod.path, error: list.error });
    if (list.kind === 'names') {
      const names = list.names.filter((name) => matcher.container(pod.name, name));
      update(pod, names, (name) => newFolder(`${pod.path}/${name}`, pod.from));
    }
    for (const container of pod.children.values()) lookForLogs(container, look, again);
  }

  function lookForLogs(container: Container, look: Look, again: boolean): void {
    const list = container.folder.look(again);
    if (list.kind === 'missing') return forget(container);
    if (list.kind === 'error') look.unreadable.push({ path: container.path, error: list.error });
    if (list.kind === 'names') {
      const there = new Set(list.names);
      const numbers = list.names.flatMap((name) => /^\d{1,9}(?=\.log(?:\.|$))/.exec(name)?.[0] ?? []);
      update(container, [...new Set(numbers)], () => ({ from: container.from, isThere: false }));
      for (const [number, log] of container.children) log.isThere = there.has(`${number}.log`);
    }
    const newest = Math.max(...[...container.children].map(([number, { isThere }]) => (isThere ? Number(number) : -1)));
    for (const [number, log] of container.children) {
      const key = `${container.path.slice(root.length + 1)}/${number}.log`;
      look.found.set(key, { ...log, key, isOlder: Number(number) < newest });
    }
  }
}

function update<Child>(known: Known<Child>, names: readonly string[], make: (name: string) => Child): void {
  const there = new Set(names);
  for (const name of known.children.keys()) if (!there.has(name)) known.children.delete(name);
  for (const name of there) if (!known.children.has(name)) known.children.set(name, make(name));
  known.from = 'start';
}

function forget(known: Known<unknown>): void {
  known.children.clear();
  known.from = 'start';
}

export interface Folders {
  /** Returns a text that changes when a name is added or removed; undefined if the folder does not exist. */
  stampOf: (path: string) => string | undefined;
  namesIn: (path: string) => string[];
}

export const folders: Folders = {
  stampOf(path) {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat && `${stat.dev} ${stat.ino} ${stat.mtimeNs}`;
  },
  namesIn: (path) => readdirSync(path),
};

type FolderLook = { kind: 'names'; names: string[] } | { kind: 'same' | 'missing' } | { kind: 'error'; error: unknown };

function createFolderWatch(path: string, { stampOf, namesIn }: Folders) {
  let known: string | undefined;
  /**
   * The folder was listed twice with the same stamp. Once is not enough, because the stamp does not show a second change within one tick of
   * the file system's clock.
   */
  let isSettled = false;

  return {
    /** Lists the names if they may have changed, or if `again` is true. Never throws. */
    look(again: boolean): FolderLook {
      try {
        const stamp = stampOf(path);
        if (stamp === undefined) return gone();
        if (stamp === known && isSettled && !again) return { kind: 'same' };
        const names = namesIn(path);
        isSettled = stamp === known;
        known = stamp;
        return { kind: 'names', names };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR') return gone();
        known = undefined;
        return { kind: 'error', error };
      }
    },
  };

  function gone(): FolderLook {
    known = undefined;
    return { kind: 'missing' };
  }
}
