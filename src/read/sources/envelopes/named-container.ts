/** Finds the container that a log collector's record names as the writer of its line. */
import { containerOfPath } from '../../../base/log-formats/container-log.ts';
import type { LogContainer } from '../../../base/model/log-line.ts';
import { createKeyMemo } from './key-memo.ts';

/** The most values of a record that are looked at, and how deep. Collectors nest names three deep (`kubernetes.container.name`). */
const maxValues = 256;
const maxDepth = 5;

/** The last words of keys, by the named thing. Collectors write them with dots, underscores, in camel case, or as nested objects. */
const keys: readonly (readonly [kind: keyof LogContainer, key: RegExp])[] = [
  ['container', /(?:^| )container(?: name)?$/],
  ['pod', /(?:^| )pod(?: name)?$/],
  ['namespace', /(?:^| )namespace(?: name)?$/],
];
/** Keys that show that a container wrote the line, even without its name. */
const ofContainer = /(?:^| )(?:kubernetes|(?:container|pod|docker) (?:id|uid|image)(?: name| id)?)$/;

interface Search extends LogContainer {
  found: boolean;
  left: number;
}

/**
 * Returns the names anywhere in the record: in labels, in metadata of Kubernetes, in the path of the log. Undefined without a container's
 * name. `text`: the message, which is ignored, because any program chooses it.
 */
export function namedContainer(record: object, text: unknown): LogContainer | undefined {
  const search: Search = { found: false, left: maxValues };
  look(record, '', 0);
  return search.found ? { namespace: search.namespace, pod: search.pod, container: search.container } : undefined;

  function look(value: object, path: string, depth: number): void {
    const pair = pairIn(value);
    for (const key of pair === undefined ? Object.keys(value) : [pair.key]) {
      if (search.left-- <= 0) return;
      const each = pair === undefined ? (value as Record<string, unknown>)[key] : pair.value;
      if (each === text || each === null || each === '') continue;
      const name = path === '' ? nameOfKey(key) : nameOf(`${path} ${wordsOf(key)}`);
      if (name.isOfContainer) search.found = true;
      if (typeof each === 'string') take(name, each);
      else if (typeof each === 'object' && depth < maxDepth) look(each, name.words, depth + 1);
    }
  }

  function take({ kinds }: ValueName, value: string): void {
    const byPath = value.includes('.log') ? containerOfPath(value) : undefined;
    if (byPath !== undefined) {
      const { namespace, pod, container } = byPath;
      Object.assign(search, { found: true, namespace, pod, container });
    }
    for (const kind of kinds) {
      search.found = true;
      search[kind] ??= value;
    }
  }
}

/** The name of a value: the words of the enclosing objects' keys, then of its own. */
interface ValueName {
  words: string;
  isOfContainer: boolean;
  kinds: readonly (keyof LogContainer)[];
}

const nameOf = createKeyMemo<ValueName>((words) => ({
  words,
  isOfContainer: ofContainer.test(words),
  kinds: keys.filter(([, key]) => key.test(words)).map(([kind]) => kind),
}));

/** Attributes of OpenTelemetry, and labels in lists, are objects with a key and a value. */
function pairIn(value: object): { key: string; value: unknown } | undefined {
  const { key, name, value: inner } = value as Record<string, unknown>;
  const label = key ?? name;
  if (typeof label !== 'string' || inner === undefined) return undefined;
  const [only] = typeof inner === 'object' && inner !== null ? Object.values(inner) : [inner];
  return { key: label, value: only };
}

/** Turns `k8s.container_name` and `k8sContainerName` into `kubernetes container name`. */
const wordsOf = createKeyMemo((key) =>
  key
    .slice(0, 128)
    .replaceAll(/([a-z0-9])(?=[A-Z])/g, '$1 ')
    .replaceAll(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase()
    .replace(/^k8s\b/, 'kubernetes')
    .replace(/^io kubernetes\b/, 'kubernetes'),
);

/** The name of a value at the top level, as nearly all are. */
const nameOfKey = createKeyMemo((key) => nameOf(wordsOf(key)));
