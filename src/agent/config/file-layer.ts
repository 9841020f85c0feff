/** Reads the config file, finds the position of each value in its YAML, and makes a layer of settings from it. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import {
  constructFromEvents,
  CORE_SCHEMA,
  type Event,
  EVENT_ID,
  getScalarValue,
  parseEvents,
  realMapTag,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
import {
  type FileOrigin,
  type Layer,
  lineAndColumn,
  problemWith,
  type SettingOrigin,
  type SettingProblem,
  type SettingValue,
} from './layer.ts';
import { configFile, type SettingName, settingNames, settingOf } from './settings.ts';
import { didYouMean } from './suggest.ts';
import { verdicts } from '../../base/model/packet.ts';
import { readAtMost } from '../../base/platform/file-io.ts';
import { reasonOf } from '../../base/platform/system-error.ts';

export interface FileLayer {
  layer: Layer;
  problems: readonly SettingProblem[];
  /** Whether the file could not be read or parsed, so that it may contain any setting. */
  unusable: boolean;
  /** Undefined if there is no file, or it could not be read. */
  file: { path: string; text: string } | undefined;
}

/** This key is not a setting: editors use it to find the schema. */
const ignored = '$schema';

const example = 'one "KEY: VALUE" a line, for example "logLevel: debug"';

/** `path` is undefined if no file is named. `readText` throws an Error that says why the file cannot be read. */
export function readFileLayer(path: string | undefined, readText: (path: string) => string): FileLayer {
  const nothing = { layer: {}, problems: [], unusable: false, file: undefined };
  if (path === undefined) return nothing;
  if (path === '') return unusable(`--${configFile.flag}: names no file`);
  const file = { path, text: '' };
  try {
    file.text = readText(path);
  } catch (error) {
    return unusable(`${path}: ${(error as Error).message}`);
  }
  const { text } = file;
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
    return unusable(`${path}${error.message}`, file);
  }
}

function unusable(problem: string, file?: FileLayer['file']): FileLayer {
  return { layer: {}, problems: [() => problem], unusable: true, file };
}

function readEntries(entries: readonly YamlEntry[], file: { path: string; text: string }): FileLayer {
  const problems: SettingProblem[] = [];
  const layer = new Map<SettingName, SettingValue>();
  for (const { key, offset, node } of entries) {
    if (key === ignored) continue;
    const origin: FileOrigin = { kind: 'file', ...file, offset, key: key.slice(0, 80) };
    const refuse = (message: () => string): number => problems.push(() => problemWith(origin, undefined, message()));
    const name = settingNames.find((each) => each === key);
    if (name === undefined) refuse(() => `there is no such setting${didYouMean(key, settingNames)}`);
    else if (layer.has(name)) refuse(() => 'is there twice: leave one out');
    else if (node.scalar === null) refuse(() => 'has no value; leave the line out for the default');
    else layer.set(name, givenBy(name, origin, node, problems));
  }
  return { layer: Object.fromEntries(layer), problems, unusable: false, file };
}

function givenBy(name: SettingName, origin: FileOrigin, node: YamlNode, problems: SettingProblem[]): SettingValue {
  const whole = { ...origin, offset: node.offset };
  if (name === 'prefixes' && node.entries !== undefined) return readPrefixes(node.entries, whole, problems);
  if (node.items === undefined) return { value: plain(node), origin: whole };
  const items = node.items.map(({ offset }, index) => ({ ...origin, offset, key: `${origin.key}[${index}]` }));
  return { value: node.items.map(plain), origin: whole, items: settingOf(name).list === undefined ? [] : items };
}

/** Reads prefixes in the form `NAME: VERDICT`, which is more readable than a list of `NAME=VERDICT`. */
function readPrefixes(entries: readonly YamlEntry[], whole: FileOrigin, problems: SettingProblem[]): SettingValue {
  const [value, items]: [string[], SettingOrigin[]] = [[], []];
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
      const hint = typeof scalar === 'string' ? didYouMean(scalar, verdicts) : '';
      const message = `must be dropped, rejected, logged or accepted${hint}`;
      return problemWith({ ...origin, offset: node.offset }, plain(node), message);
    });
  }
  return { value, origin: whole, items };
}

/** Returns the value itself. A list or a map becomes `{}`, which every check refuses. */
function plain({ items, entries, scalar }: YamlNode): unknown {
  return items === undefined && entries === undefined ? scalar : {};
}

/** The largest config file in bytes. Settings take a few KB. */
const limit = 256 * 1024;

/** Throws an Error whose message says why the text cannot be read, such as `is a folder`. */
export function readConfigText(path: string): string {
  const bytes = readBytes(path);
  if (bytes.includes(0)) throw new Error('is not text: it contains zero bytes');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('is not UTF-8 text');
  }
}

function readBytes(path: string): Buffer {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK, opening a pipe that has no writer would block.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new Error('is a folder');
    if (!stat.isFile()) throw new Error('is not a regular file');
    const bytes = readAtMost(file, limit);
    if (bytes === undefined) throw new Error(`is larger than ${limit / 1024} KiB: that is not a config file`);
    return bytes;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    throw new Error(`cannot be read: ${reasonOf(error)}`, { cause: error });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

interface YamlNode {
  /** A text, number, boolean or null; undefined for a list or a map. */
  scalar?: unknown;
  offset: number;
  items?: readonly YamlNode[];
  entries?: readonly YamlEntry[];
}

interface YamlEntry {
  key: string;
  offset: number;
  node: YamlNode;
}

/** Thrown for a text that cannot be a config file. The message begins with line and column, if known: `:3:1: is not YAML`. */
class YamlError extends Error {
  constructor(message: string, place?: string) {
    super(`${place === undefined ? '' : `:${place}`}: ${message}`);
  }
}

/** Settings need two levels. */
const maxDepth = 8;
/** The most events of the parser, which suffices for some thousand prefixes. Checking 100,000 values would take seconds. */
const maxEvents = 10_000;

/** Reads maps as `Map`, which keeps the keys in their order. */
const schema = CORE_SCHEMA.withTags(realMapTag);

/** Parses YAML 1.2 or JSON; undefined if empty. Refuses aliases, because a few can expand to gigabytes. Throws a `YamlError`. */
function parseYaml(text: string): YamlNode | undefined {
  try {
    const events = parseEvents(text, { maxDepth });
    if (events.length > maxEvents) throw new YamlError('holds far more values than there are settings');
    const alias = events.find((event) => event.type === EVENT_ID.ALIAS);
    if (alias?.type === EVENT_ID.ALIAS)
      throw new YamlError(
        'aliases (*name) are not understood here: write the value out',
        lineAndColumn(text, alias.anchorStart - 1),
      );
    const [document, ...more] = constructFromEvents(events, { source: text, schema, maxAliases: 0 });
    if (more.length > 0) throw new YamlError('holds several documents (---): one is expected');
    return document === undefined ? undefined : nodeOf(document, events, text);
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    throw new YamlError(reasons[reason] ?? `is not YAML: ${reason}`, mark && `${mark.line + 1}:${mark.column + 1}`);
  }
}

const reasons: Readonly<Record<string, string>> = {
  'duplicated mapping key': 'is there twice: leave one out',
  [`nesting exceeded maxDepth (${maxDepth})`]: 'is nested too deeply to be settings',
};

/** The parser's events contain the offsets, in the order of the values. */
function nodeOf(document: unknown, events: readonly Event[], text: string): YamlNode {
  // Skip the first event, which begins the document.
  let at = 1;
  return read(document, 0);

  function read(value: unknown, parent: number): YamlNode {
    const offset = startOf(events[at++], parent);
    if (!(value instanceof Map) && !Array.isArray(value)) return { scalar: value, offset };
    const node = Array.isArray(value)
      ? { offset, items: value.map((each: unknown) => read(each, offset)) }
      : { offset, entries: [...(value.values() as Iterable<unknown>)].map((each) => readEntry(each, offset)) };
    // Skip the event that ends the list or map.
    at++;
    return node;
  }

  function readEntry(value: unknown, parent: number): YamlEntry {
    const event = events[at++];
    const offset = startOf(event, parent);
    if (event?.type !== EVENT_ID.SCALAR)
      throw new YamlError('a list or a map cannot be a key here', lineAndColumn(text, offset));
    return { key: getScalarValue(text, event), offset, node: read(value, offset) };
  }
}

/** Returns the offset of a value or a key. An empty value has no offset of its own, so it gets its parent's. */
export function startOf<Parent extends number | undefined>(event: Event | undefined, parent: Parent): number | Parent {
  if (event?.type === EVENT_ID.SCALAR) {
    const isQuoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
    if (isQuoted) return event.valueStart - 1;
    return event.valueStart < 0 || event.valueStart === event.valueEnd ? parent : event.valueStart;
  }
  return event !== undefined && 'start' in event && event.start >= 0 ? event.start : parent;
}
