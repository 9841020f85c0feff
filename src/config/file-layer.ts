import { verdicts } from '../model/packet.ts';
import type { Problem } from './config-error.ts';
import type { Given, Layer } from './layer.ts';
import { type Origin, problemWith } from './origin.ts';
import { settingNames, settingOf } from './settings.ts';
import type { SettingName } from './types.ts';
import { suggest } from './suggest.ts';
import { parseYaml, type Place, YamlError, type YamlEntry, type YamlNode } from './yaml.ts';

export interface FileLayer {
  layer: Layer;
  problems: readonly Problem[];
  /** It could not be understood at all: what it was to set is not known. */
  unusable: boolean;
}

/** Editors look there for the schema. */
const ignored = '$schema';

const example = 'one "KEY: VALUE" a line, for example "logLevel: debug"';

/** What a file sets. `path` is for the texts of problems. */
export function layerOfFile(text: string, path: string): FileLayer {
  if (text.trim() === '') return unusable(`${path}: is empty; settings are ${example}`);
  try {
    const root = parseYaml(text);
    if (root === undefined) return { layer: {}, problems: [], unusable: false };
    if (root.entries === undefined)
      return unusable(`${at(path, root.place)}: is ${kindOf(root)} where settings should be: ${example}`);
    return readEntries(root.entries, path);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return unusable(`${error.place === undefined ? path : at(path, error.place)}: ${error.message}`);
  }
}

function unusable(problem: string): FileLayer {
  return { layer: {}, problems: [() => problem], unusable: true };
}

function readEntries(entries: readonly YamlEntry[], path: string): FileLayer {
  const problems: Problem[] = [];
  const layer = new Map<SettingName, Given>();
  for (const { key, place, node } of entries) {
    const name = settingNames.find((each) => each === key);
    const origin: Origin = { kind: 'file', path, ...place, key };
    if (key === ignored) continue;
    if (name === undefined)
      problems.push(() =>
        problemWith(
          { ...origin, key: key.slice(0, 80) },
          undefined,
          `there is no such setting${suggest(key, settingNames)}`,
        ),
      );
    else if (layer.has(name)) problems.push(() => problemWith(origin, undefined, 'is there twice: leave one out'));
    else if (node.scalar === null)
      problems.push(() => problemWith(origin, undefined, 'has no value; leave the line out for the default'));
    else layer.set(name, givenBy(name, origin, node, problems));
  }
  return { layer: Object.fromEntries(layer), problems, unusable: false };
}

function givenBy(name: SettingName, origin: Origin & { kind: 'file' }, node: YamlNode, problems: Problem[]): Given {
  const whole = { ...origin, ...node.place };
  if (name === 'prefixes' && node.entries !== undefined) return readPrefixes(node.entries, whole, problems);
  if (node.items === undefined) return { value: plain(node), origin: whole };
  const items = node.items.map((item, index) => ({ ...origin, ...item.place, key: `${origin.key}[${index}]` }));
  return { value: node.items.map(plain), origin: whole, items: settingOf(name).list === undefined ? [] : items };
}

/** `NAME: VERDICT`, which is easier to read than a list of `NAME=VERDICT`. */
function readPrefixes(entries: readonly YamlEntry[], whole: Origin & { kind: 'file' }, problems: Problem[]): Given {
  const value: string[] = [];
  const items: Origin[] = [];
  for (const { key, node, place } of entries) {
    const origin = {
      ...whole,
      ...place,
      key: `${whole.key}.${/^[\w-]+$/.test(key) ? key : JSON.stringify(key.slice(0, 80))}`,
    };
    const { scalar } = node;
    if (!verdicts.some((verdict) => verdict === scalar)) {
      problems.push(() =>
        problemWith(
          { ...origin, ...node.place },
          plain(node),
          `must be dropped, rejected, logged or accepted${typeof scalar === 'string' ? suggest(scalar, verdicts) : ''}`,
        ),
      );
      continue;
    }
    value.push(`${key}=${String(scalar)}`);
    items.push(origin);
  }
  return { value, origin: whole, items };
}

/** A list or a map in a place where none belongs is something that every check refuses. */
function plain({ items, entries, scalar }: YamlNode): unknown {
  return items === undefined && entries === undefined ? scalar : {};
}

function kindOf({ items }: YamlNode): string {
  return items === undefined ? 'a single value' : 'a list';
}

function at(path: string, { line, column }: Place): string {
  return `${path}:${line}:${column}`;
}
