/** The config file's layer of settings. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { verdicts } from '../model/packet.ts';
import { type FileOrigin, lineAndColumn, type Origin, type Problem, problemWith } from './origin.ts';
import type { Given, Layer } from './layer.ts';
import { configFile, type SettingName, settingNames, settingOf } from './settings.ts';
import { suggest } from './suggest.ts';
import { parseYaml, type YamlEntry, YamlError, type YamlNode } from './yaml.ts';
import { reasonOf } from '../platform/system-error.ts';

export interface FileLayer {
  layer: Layer;
  problems: readonly Problem[];
  /** It could not be understood at all: what it was to set is not known. */
  unusable: boolean;
  /** Undefined if there is no file, or it could not be read. */
  file: { path: string; text: string } | undefined;
}

/** Editors look there for the schema. */
const ignored = '$schema';

const example = 'one "KEY: VALUE" a line, for example "logLevel: debug"';

/** `path` is undefined if no file is named. `readText` throws an Error that says why the file cannot be read. */
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

/** Settings take a few KB; a ConfigMap cannot hold more than 1 MiB. */
const limit = 256 * 1024;

/** The text of a config file. Throws an Error that says, for a person, why it cannot be had: `is a folder`. */
export function readConfigText(path: string): string {
  const bytes = readBytes(path);
  if (bytes.length > limit) throw new Error(`is larger than ${limit / 1024} KiB: that is no config file`);
  if (bytes.includes(0)) throw new Error('is no text: it holds zero bytes');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('is no text in UTF-8');
  }
}

/** One byte more than the limit, at most. */
function readBytes(path: string): Buffer {
  let file: number | undefined;
  try {
    // Opening a pipe without a writer would block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new Error('is a folder');
    if (!stat.isFile()) throw new Error('is no regular file');
    const bytes = Buffer.alloc(limit + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, bytes, length, bytes.length - length, null);
      length += read;
      if (read === 0 || length === bytes.length) return bytes.subarray(0, length);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
