import { readFileSync } from 'node:fs';
import type { NodeFacts } from '../model.ts';
import type { ClusterObjects } from '../resolving/objects.ts';
import { reasonOf } from '../system-error.ts';
import { settingsOf } from './felix-configuration.ts';
import { type Json, slimEndpointSlice, slimNode, slimPod, slimService, UnusableObject } from './slim.ts';

export interface Snapshot {
  objects: ClusterObjects;
  /** FelixConfigurations as they are, by name. */
  felixConfigurations: Map<string, Json>;
  /** One line a problem, each naming the file and the place. */
  problems: string[];
}

/**
 * Reads saved lists of objects, as `kubectl get pods,nodes,services,namespaces -A -o json` prints them: a List, a
 * PodList, a single object, or several of these one after the other on lines of their own. What cannot be read is told
 * in `problems`; the rest counts.
 */
export function readSnapshot(files: readonly string[]): Snapshot {
  const snapshot: Snapshot = {
    objects: { pods: [], nodes: [], services: [], endpointSlices: [], namespaces: [] },
    felixConfigurations: new Map(),
    problems: [],
  };
  for (const file of files) {
    try {
      // Descriptor 0 instead of a path: what a shell's `<(kubectl …)` gives has a path of its own, `-` has not.
      readDocuments(file, readFileSync(file === '-' ? 0 : file, 'utf8'), snapshot);
    } catch (error) {
      snapshot.problems.push(
        `${file}: ${tooLarge(error) ? 'too large for one JSON text (512 MB): save one namespace at a time' : reasonOf(error)}`,
      );
    }
  }
  return snapshot;
}

/** What FelixConfiguration said for a node; undefined where none was saved. */
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

function readDocuments(file: string, text: string, snapshot: Snapshot): void {
  const content = text.replace(/^\uFEFF/, '');
  let value: Json;
  try {
    value = JSON.parse(content);
  } catch (error) {
    return readLines(file, content, error as Error, snapshot);
  }
  takeObject(value, file, snapshot, true);
}

/** One object a line (`kubectl get -o json | jq -c '.items[]'`); if not even the first is one, the whole is bad JSON. */
function readLines(file: string, content: string, error: Error, snapshot: Snapshot): void {
  const lines = content
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '');
  const first = parseObject(lines[0]?.line ?? '');
  if (first === undefined || lines.length < 2) {
    snapshot.problems.push(
      `${file}${placeOf(error, content)}: is not JSON as \`kubectl get … -o json\` prints it${hint(content)} (${withoutPlace(error.message)})`,
    );
    return;
  }
  for (const { line, number } of lines) {
    const object = parseObject(line);
    if (object === undefined) snapshot.problems.push(`${file}: line ${number} is not JSON`);
    else takeObject(object, `${file}: line ${number}`, snapshot, true);
  }
}

function parseObject(line: string): Json {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function takeObject(value: Json, place: string, snapshot: Snapshot, top: boolean): void {
  const { kind, items } = (typeof value === 'object' && value !== null ? value : {}) as { kind?: Json; items?: Json };
  if (Array.isArray(items)) {
    if (items.length === 0) snapshot.problems.push(`${place}: the list is empty`);
    const itemKind = typeof kind === 'string' && kind !== 'List' ? kind.replace(/List$/, '') : undefined;
    for (const [index, item] of items.entries()) takeItem(item, itemKind, `${place}: items[${index}]`, snapshot);
    return;
  }
  if (top && typeof kind !== 'string') {
    snapshot.problems.push(`${place}: is JSON, but no Kubernetes object or list (it has no \`kind\`)`);
    return;
  }
  takeItem(value, undefined, place, snapshot);
}

/** In a PodList and its like the items do not repeat their kind. */
function takeItem(item: Json, listKind: string | undefined, place: string, snapshot: Snapshot): void {
  const { objects, problems } = snapshot;
  const own = typeof item === 'object' && item !== null ? (item as { kind?: Json }).kind : undefined;
  const kind = typeof own === 'string' ? own : listKind;
  try {
    if (kind === 'Pod') objects.pods.push(slimPod(item));
    else if (kind === 'Node') objects.nodes.push(slimNode(item));
    else if (kind === 'Service') objects.services.push(slimService(item));
    else if (kind === 'EndpointSlice') objects.endpointSlices.push(slimEndpointSlice(item));
    else if (kind === 'Namespace') objects.namespaces.push(slimNode(item).name);
    else if (kind === 'FelixConfiguration') snapshot.felixConfigurations.set(slimNode(item).name, item);
    // Other kinds do no harm: people save `kubectl get all`.
  } catch (error) {
    if (!(error instanceof UnusableObject)) throw error;
    problems.push(`${place}: the ${kind}${error.object === undefined ? '' : ` ${error.object}`} ${error.message}`);
  }
}

/** V8 names a position in the text, or for an unexpected token shows the text around it; people want line and column. */
function placeOf(error: Error, content: string): string {
  const position = /at position (\d+)/.exec(error.message)?.[1];
  if (position !== undefined || /end of JSON/.test(error.message)) {
    const before = content.slice(0, position === undefined ? content.length : Number(position)).split('\n');
    return `: line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  }
  // Where the whole is no JSON at all, no line of it is to blame.
  if (hint(content) !== '') return '';
  const around = /, (?:\.\.\.)?"(.+)"(?:\.\.\.)? is not valid JSON$/s.exec(error.message)?.[1];
  const at = around === undefined ? -1 : content.indexOf(around);
  return at < 0 ? '' : `: near line ${content.slice(0, at + Math.floor((around?.length ?? 0) / 2)).split('\n').length}`;
}

function withoutPlace(message: string): string {
  return message.replace(/ in JSON at position.*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '');
}

function hint(content: string): string {
  if (content.trim() === '') return ': it is empty';
  if (content.includes('\0')) return ': it is UTF-16, save it as UTF-8';
  if (/\}\s*\{/.test(content) && /^\s*\{/.test(content))
    return ': it looks like several JSON texts, give each file its own --pods';
  if (/^(?:apiVersion|kind|items|---)/.test(content.trimStart())) return ': it looks like YAML, use -o json';
  return /^NAME(?:SPACE)? /.test(content) ? ': it is the table kubectl prints, use -o json' : '';
}
