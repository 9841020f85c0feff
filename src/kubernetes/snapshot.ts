import { readFileSync } from 'node:fs';
import { auditOptOut } from '../model/choices.ts';
import type { NodeFacts } from '../model/incident.ts';
import type { ClusterObjects } from '../resolving/resolving.ts';
import { reasonOf } from '../platform/system-error.ts';
import { settingsOf } from './incident-facts.ts';
import { type Json, parsed } from '../platform/json.ts';
import { slimEndpointSlice, slimNode, slimPod, slimService, UnusableObject } from './slim.ts';

export interface Snapshot {
  objects: ClusterObjects;
  felixConfigurations: Map<string, Json>;
  /** Namespaces that opted out of the audit. */
  optedOut: Set<string>;
  /** One line with file and place for each unusable object. The run continues without it. */
  problems: string[];
  /** One line for each unusable file. Without it, the run would show too little. */
  unusable: string[];
}

interface Brought {
  snapshot: Snapshot;
  alsoTake: (document: Json) => number;
  /** Objects of kinds that are used, including unusable ones, which at least show that it is the right file. */
  objects: number;
  otherKinds: Set<string>;
  problems: string[];
}

/**
 * Reads what `kubectl get … -o json` prints: lists and objects, also one per line. `alsoTake` gets each list or object, and returns how
 * many objects it has used. Never throws.
 */
export function readSnapshot(files: readonly string[], alsoTake: (document: Json) => number = () => 0): Snapshot {
  const snapshot: Snapshot = {
    objects: { pods: [], nodes: [], services: [], endpointSlices: [], namespaces: [] },
    felixConfigurations: new Map(),
    optedOut: new Set(),
    problems: [],
    unusable: [],
  };
  for (const file of files) {
    const brought: Brought = { snapshot, alsoTake, objects: 0, otherKinds: new Set(), problems: [] };
    try {
      // `-` is standard input. A shell replaces `<(kubectl …)` by a path.
      readDocuments(file, readFileSync(file === '-' ? 0 : file, 'utf8'), brought);
      if (brought.objects > 0) snapshot.problems.push(...brought.problems);
      else if (brought.problems.length > 0) snapshot.unusable.push(...brought.problems);
      else snapshot.unusable.push(`${file}: has ${[...brought.otherKinds].join(', ')}, and none of ${usedKinds}`);
    } catch (error) {
      const reason = tooLarge(error)
        ? 'too large for one JSON text (512 MB): save one namespace at a time'
        : reasonOf(error);
      snapshot.unusable.push(error instanceof UnusableFile ? error.message : `${file}: ${reason}`);
    }
  }
  return snapshot;
}

const usedKinds = 'Pod, Node, Service, EndpointSlice, Namespace, NetworkPolicy and FelixConfiguration';

/** Reports why a file contains no saved objects. */
class UnusableFile extends Error {
  override name = 'UnusableFile';
}

/** Undefined if no FelixConfiguration was saved. */
export function felixOf({ felixConfigurations }: Snapshot, node: string): NodeFacts['felix'] {
  if (felixConfigurations.size === 0) return undefined;
  const own = `node.${node}`;
  return {
    kind: 'settings',
    settings: settingsOf(felixConfigurations.get('default'), felixConfigurations.get(own), own),
  };
}

function tooLarge(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ERR_STRING_TOO_LONG' || code === 'ERR_FS_FILE_TOO_LARGE';
}

function readDocuments(file: string, text: string, brought: Brought): void {
  const content = text.replace(/^\uFEFF/, '');
  let value: Json;
  try {
    value = JSON.parse(content);
  } catch (error) {
    return readLines(file, content, error as Error, brought);
  }
  takeObject(value, file, brought);
}

/** Reads one object per line, as `jq -c` prints. If the first line is not JSON, the whole file is reported as invalid. */
function readLines(file: string, content: string, error: Error, brought: Brought): void {
  // Split off only the first line, because somebody may name a log of gigabytes by mistake.
  const [first = ''] = content.trim().split('\n', 1);
  if (parsed(first) === undefined || first === content.trim()) {
    throw new UnusableFile(
      `${file}${placeOf(error, content)}: is not JSON as \`kubectl get … -o json\` prints it${hint(content, error)} (${withoutPlace(error.message)})`,
    );
  }
  for (const [index, line] of content.split('\n').entries()) {
    const place = `${file}: line ${index + 1}`;
    const object = parsed(line);
    if (object !== undefined) takeObject(object, place, brought);
    else if (line.trim() !== '') throw new UnusableFile(`${place} is not JSON`);
  }
}

function takeObject(value: Json, place: string, brought: Brought): void {
  const { kind, items } = (typeof value === 'object' && value !== null ? value : {}) as { kind?: Json; items?: Json };
  brought.objects += brought.alsoTake(value);
  if (Array.isArray(items)) {
    if (items.length === 0) brought.problems.push(`${place}: the list is empty`);
    const itemKind = typeof kind === 'string' && kind !== 'List' ? kind.replace(/List$/, '') : undefined;
    for (const [index, item] of items.entries()) takeItem(item, itemKind, `${place}: items[${index}]`, brought);
    return;
  }
  if (typeof kind !== 'string')
    throw new UnusableFile(`${place}: is JSON, but no Kubernetes object or list (it has no \`kind\`)`);
  takeItem(value, undefined, place, brought);
}

/** Takes one item of a list. Items of a PodList do not repeat their kind. */
function takeItem(item: Json, listKind: string | undefined, place: string, brought: Brought): void {
  const { objects, felixConfigurations } = brought.snapshot;
  const own = typeof item === 'object' && item !== null ? (item as { kind?: Json }).kind : undefined;
  const kind = typeof own === 'string' ? own : listKind;
  try {
    if (kind === 'Pod') objects.pods.push(slimPod(item));
    else if (kind === 'Node') objects.nodes.push(slimNode(item));
    else if (kind === 'Service') objects.services.push(slimService(item));
    else if (kind === 'EndpointSlice') objects.endpointSlices.push(slimEndpointSlice(item));
    else if (kind === 'Namespace') takeNamespace(item, brought.snapshot);
    else if (kind === 'FelixConfiguration') felixConfigurations.set(slimNode(item).name, item);
    // People often save the output of `kubectl get all`.
    else return void brought.otherKinds.add(kind ?? 'items without a kind');
  } catch (error) {
    if (!(error instanceof UnusableObject)) throw error;
    const { object, message } = error;
    brought.problems.push(`${place}: the ${kind}${object === undefined ? '' : ` ${object}`} ${message}`);
  }
  brought.objects++;
}

function takeNamespace(item: Json, { objects, optedOut }: Snapshot): void {
  const { name } = slimNode(item);
  objects.namespaces.push(name);
  const { labels } = (item as { metadata: { labels?: Record<string, unknown> } }).metadata;
  if (labels?.[auditOptOut.key] === auditOptOut.value) optedOut.add(name);
}

/** Finds line and column of the error. V8 gives a position, or for an unexpected token the text around it. */
function placeOf(error: Error, content: string): string {
  const position = /at position (\d+)/.exec(error.message)?.[1];
  if (position !== undefined || /end of JSON/.test(error.message)) {
    const before = content.slice(0, position === undefined ? content.length : Number(position)).split('\n');
    return `: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  }
  // A hint means that the whole text is not JSON, so a place would not help.
  if (hint(content, error) !== '') return '';
  const around = /, (?:\.\.\.)?"(.{1,100})"(?:\.\.\.)? is not valid JSON$/s.exec(error.message)?.[1];
  const at = around === undefined ? -1 : content.indexOf(around);
  return at < 0 ? '' : `: near line ${content.slice(0, at + Math.floor((around?.length ?? 0) / 2)).split('\n').length}`;
}

function withoutPlace(message: string): string {
  return message.replace(/ in JSON at position.*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '');
}

function hint(content: string, error: Error): string {
  if (content.trim() === '') return ': it is empty';
  if (content.includes('\0')) return ': it is UTF-16, save it as UTF-8';
  if (/\}\s*\{/.test(content) && /^\s*\{/.test(content))
    return ': it looks like several JSON texts, give each file its own --pods';
  if (/^(?:apiVersion|kind|items|---)/.test(content.trimStart())) return ': it looks like YAML, use -o json';
  if (/^NAME(?:SPACE)? /.test(content)) return ': it is the table kubectl prints, use -o json';
  return /end of JSON|Unterminated/.test(error.message) ? ': it is cut off' : '';
}
