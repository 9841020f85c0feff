/** Finds the logs of containers in the kubelet's layout, `<root>/<namespace>_<pod>_<uid>/<container>/<n>.log`. */
import { createFolderNames, type FolderNames } from './folder-names.ts';
import { podOfFolder } from '../../../base/log-formats/container-log.ts';
import type { LogContainer } from '../../../base/model/log-line.ts';

/** Says which containers' logs are read. In every list, `*` matches any text, even an empty one. */
export interface ContainerRule {
  readonly namespaces: readonly string[];
  readonly pods: readonly string[];
  readonly containers: readonly string[];
}

const namespaces = ['kube-system', 'calico-system'];

export const defaultRules: readonly ContainerRule[] = [
  { namespaces, pods: ['kube-proxy*'], containers: ['kube-proxy'] },
  { namespaces, pods: ['calico-node*'], containers: ['calico-node'] },
  {
    namespaces: ['kube-system'],
    pods: ['kube-network-policies*', 'kindnet*'],
    containers: ['kube-network-policies', 'kindnet-cni'],
  },
];

/** Returns whether the agent reads this container's log by default, as far as its names are known. */
export function isNetworkComponent({ namespace, pod, container }: LogContainer): boolean {
  return defaultRules.some(
    (rule) =>
      (namespace === undefined || matchesAny(rule.namespaces, namespace)) &&
      (pod === undefined || matchesAny(rule.pods, pod)) &&
      (container === undefined || matchesAny(rule.containers, container)),
  );
}

const form = 'must be NAMESPACES/PODS/CONTAINERS, for example kube-system,calico-system/kube-proxy*/kube-proxy';

/** Reads `NAMESPACES/PODS/CONTAINERS`, each a list with commas. Throws a RangeError that describes the problem. */
export function parseContainerRule(text: string): ContainerRule {
  const [first = '', pods, containers, more] = text.split('/');
  if (pods === undefined || containers === undefined || more !== undefined) throw new RangeError(form);
  return {
    namespaces: namesIn(first, 'namespace'),
    pods: namesIn(pods, 'Pod'),
    containers: namesIn(containers, 'container'),
  };
}

function namesIn(list: string, what: string): string[] {
  const names = list.split(',').map((name) => name.trim());
  for (const name of names) {
    if (name === '') throw new RangeError(`names no ${what} where one should be (* for any); it ${form}`);
    if (!/^[a-z0-9.*-]{1,253}$/.test(name))
      throw new RangeError(
        `${JSON.stringify(name)} is not the name of a ${what}: those have lower-case letters, digits, - and .; * matches any text`,
      );
  }
  return names;
}

function matchesAny(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matches(pattern, name));
}

/** Matches each piece between the stars at its first position, so that every pattern takes linear time. */
function matches(pattern: string, name: string): boolean {
  const [start = '', ...pieces] = pattern.split('*');
  const end = pieces.pop();
  if (end === undefined) return pattern === name;
  if (!name.startsWith(start)) return false;
  let at = start.length;
  for (const piece of pieces) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return name.length - at >= end.length && name.endsWith(end);
}

export interface FoundLog {
  readonly key: string;
  /** False if only rotated parts of the log are left. */
  readonly isThere: boolean;
  /** Whether the container has been restarted since, with a new log. */
  readonly isOlder: boolean;
}

export interface LogSearch {
  root: 'read' | 'missing' | { error: unknown };
  found: Map<string, FoundLog>;
  /** Folders below the root that cannot be read. Their contents are unknown. */
  unreadable: { path: string; error: unknown }[];
}

/** The folder of a Pod, and the rules that its containers must match. */
interface MatchingPod {
  folder: string;
  meant: readonly ContainerRule[];
}

/** Returns a function that scans the folders. It never throws. */
export function createLogFinder(
  root: string,
  rules: readonly ContainerRule[],
  folders: FolderNames = createFolderNames(),
): () => LogSearch {
  /** By the list of names in the folder, which stays the same object while the folder does not change. */
  const logs = new WeakMap<readonly string[], FoundLog[]>();
  let last: { names: readonly string[]; pods: readonly MatchingPod[] } | undefined;
  /** By the folder, because the others stay the same when one comes or goes. */
  let matched = new Map<string, readonly MatchingPod[]>();

  return () => {
    folders.begin();
    const look: LogSearch = { root: 'read', found: new Map(), unreadable: [] };
    let names: readonly string[];
    try {
      names = folders.latest(root);
    } catch (error) {
      return { ...look, root: isMissing(error) ? 'missing' : { error } };
    }
    if (last?.names !== names) last = { names, pods: matching(names) };
    for (const { folder, meant } of last.pods) {
      for (const container of listBelow(folder, look))
        if (meant.some(({ containers }) => matchesAny(containers, container))) takeLogs(`${folder}/${container}`, look);
    }
    return look;
  };

  function matching(names: readonly string[]): readonly MatchingPod[] {
    matched = new Map(names.map((folder) => [folder, matched.get(folder) ?? matchingOf(folder)]));
    return [...matched.values()].flat();
  }

  function matchingOf(folder: string): readonly MatchingPod[] {
    const { namespace, pod } = podOfFolder(folder) ?? {};
    if (namespace === undefined || pod === undefined) return [];
    const meant = rules.filter((rule) => matchesAny(rule.namespaces, namespace) && matchesAny(rule.pods, pod));
    return meant.length === 0 ? [] : [{ folder, meant }];
  }

  function takeLogs(folder: string, look: LogSearch): void {
    const names = listBelow(folder, look);
    const known = logs.get(names) ?? logsIn(folder, new Set(names));
    logs.set(names, known);
    for (const log of known) look.found.set(log.key, log);
  }

  function listBelow(folder: string, { unreadable }: LogSearch): readonly string[] {
    const path = `${root}/${folder}`;
    try {
      return folders.names(path);
    } catch (error) {
      if (!isMissing(error)) unreadable.push({ path, error });
      return [];
    }
  }
}

function logsIn(folder: string, names: ReadonlySet<string>): FoundLog[] {
  const numbers = Array.from(names, (name) => /^\d{1,9}(?=\.log(?:\.|$))/.exec(name)?.[0]);
  const newest = Math.max(...numbers.map((number) => (names.has(`${number}.log`) ? Number(number) : -1)));
  return [...new Set(numbers)].flatMap((number) => {
    if (number === undefined) return [];
    const [file, key] = [`${number}.log`, `${folder}/${number}.log`];
    return [{ key, isThere: names.has(file), isOlder: Number(number) < newest }];
  });
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
