/** The config file's layer of settings. */
import { verdicts } from '../model/packet.ts';
import type { Problem } from './config-error.ts';
import type { Given, Layer } from './layer.ts';
import { type FileOrigin, lineAndColumn, type Origin, problemWith } from './origin.ts';
import type { SettingName } from './schema.ts';
import { configFile, settingNames, settingOf } from './settings.ts';
import { suggest } from './suggest.ts';
import { parseYaml, YamlError, type YamlEntry, type YamlNode } from './yaml.ts';

export interface FileLayer {
  layer: Layer;
  problems: readonly Problem[];
  /** It could not be understood at all: what it was to set is not known. */
  unusable: boolean;
  /** Undefined where there is no file, or it could not be read. */
  file: { path: string; text: string } | undefined;
}

/** Editors look there for the schema. */
const ignored = '$schema';

const example = 'one "KEY: VALUE" a line, for example "logLevel: debug"';

/** `path` is undefined where no file is named. `readText` throws an Error that says why the file cannot be read. */
export function readFileLayer(path: string | undefined, readText: (path: string) => string): FileLayer {
  const nothing = { layer: {}, problems: [], unusable: false, file: undefined };
  if (path === undefined) return nothing;
  if (path === '') return unusable(`--${configFile.flag}: names no file`);
  let text;
  try {
    text = readText(path);
  } catch (error) {
    return unusable(`${path}: ${(error as Error).message}`);
  }
  const file = { path, text };
  if (text.trim() === '') return unusable(`${path}: is empty; settings are ${example}`, file);
  try {
    const root = parseYaml(text);
    if (root === undefined) return { ...nothing, file };
    if (root.entries !== undefined) return readEntries(root.entries, file);
    const kind = root.items === undefined ? 'a single value' : 'a list';
    const place = `${path}:${lineAndColumn(text, root.offset)}`;
    return unusable(`${place}: is ${kind} where settings should be: ${example}`, file);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    return unusable(`${path}${error.place === undefined ? '' : `:${error.place}`}: ${error.message}`, file);
  }
}

function unusable(problem: string, file?: FileLayer['file']): FileLayer {
  return { layer: {}, problems: [() => problem], unusable: true, file };
}

function readEntries(entries: readonly YamlEntry[], file: { path: string; text: string }): FileLayer {
  const problems: Problem[] = [];
  const layer = new Map<SettingName, Given>();
  for (const { key, offset, node } of entries) {
    if (key === ignored) continue;
    const origin: FileOrigin = { kind: 'file', ...file, offset, key: key.slice(0, 80) };
    const refuse = (message: () => string): number => problems.push(() => problemWith(origin, undefined, message()));
    const name = settingNames.find((each) => each === key);
    if (name === undefined) refuse(() => `there is no such setting${suggest(key, settingNames)}`);
    else if (layer.has(name)) refuse(() => 'is there twice: leave one out');
    else if (node.scalar === null) refuse(() => 'has no value; leave the line out for the default');
    else layer.set(name, givenBy(name, origin, node, problems));
  }
  return { layer: Object.fromEntries(layer), problems, unusable: false, file };
}

function givenBy(name: SettingName, origin: FileOrigin, node: YamlNode, problems: Problem[]): Given {
  const whole = { ...origin, offset: node.offset };
  if (name === 'prefixes' && node.entries !== undefined) return readPrefixes(node.entries, whole, problems);
  if (node.items === undefined) return { value: plain(node), origin: whole };
  const items = node.items.map(({ offset }, index) => ({ ...origin, offset, key: `${origin.key}[${index}]` }));
  return { value: node.items.map(plain), origin: whole, items: settingOf(name).list === undefined ? [] : items };
}

/** `NAME: VERDICT`, which is easier to read than a list of `NAME=VERDICT`. */
function readPrefixes(entries: readonly YamlEntry[], whole: FileOrigin, problems: Problem[]): Given {
  const value: string[] = [];
  const items: Origin[] = [];
  for (const { key, node, offset } of entries) {
    const shownKey = /^[\w-]+$/.test(key) ? key : JSON.stringify(key.slice(0, 80));
    const origin = { ...whole, offset, key: `${whole.key}.${shownKey}` };
    const { scalar } = node;
    if (verdicts.some((verdict) => verdict === scalar)) {
      value.push(`${key}=${String(scalar)}`);
      items.push(origin);
      continue;
    }
    problems.push(() => {
      const hint = typeof scalar === 'string' ? suggest(scalar, verdicts) : '';
      const message = `must be dropped, rejected, logged or accepted${hint}`;
      return problemWith({ ...origin, offset: node.offset }, plain(node), message);
    });
  }
  return { value, origin: whole, items };
}

/** A list or a map in a place where none belongs is something that every check refuses. */
function plain({ items, entries, scalar }: YamlNode): unknown {
  return items === undefined && entries === undefined ? scalar : {};
}
