/** Reads YAML into values that know where they stand in the text. */
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
import { lineAndColumn } from './origin.ts';

/** A value with the offset at which it begins, and so for everything in it. */
export interface YamlNode {
  /** Text, number, boolean or null; undefined for a list or a map. */
  scalar?: unknown;
  offset: number;
  items?: readonly YamlNode[];
  entries?: readonly YamlEntry[];
}

export interface YamlEntry {
  key: string;
  offset: number;
  node: YamlNode;
}

/** A text that is no YAML, or more of it than settings need. `place`: `3:1`, where it is known. */
export class YamlError extends Error {
  override name = 'YamlError';
  readonly place: string | undefined;

  constructor(message: string, place: string | undefined) {
    super(message);
    this.place = place;
  }
}

/** Settings are a list in a map, at most. */
const maxDepth = 8;
/** Some thousand prefixes; checking a hundred thousand values takes seconds. */
const maxEvents = 10_000;

/** Keys stay as they are written, in their order. */
const schema = CORE_SCHEMA.withTags(realMapTag);

/** A document of YAML 1.2, or JSON; undefined if empty. Refuses aliases: a few can stand for gigabytes. Throws a `YamlError`. */
export function parseYaml(text: string): YamlNode | undefined {
  try {
    const events = parseEvents(text, { maxDepth });
    if (events.length > maxEvents) throw new YamlError('holds far more values than there are settings', undefined);
    const alias = events.find((event) => event.type === EVENT_ID.ALIAS);
    if (alias?.type === EVENT_ID.ALIAS)
      throw new YamlError(
        'aliases (*name) are not understood here: write the value out',
        lineAndColumn(text, alias.anchorStart - 1),
      );
    const [document, ...more] = constructFromEvents(events, { source: text, schema, maxAliases: 0 });
    if (more.length > 0) throw new YamlError('holds several documents (---): one is expected', undefined);
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

/** Events say where everything stands, documents what it means: both have the same order. */
function nodeOf(document: unknown, events: readonly Event[], text: string): YamlNode {
  // The first one begins the document.
  let at = 1;
  return read(document, 0);

  function read(value: unknown, parent: number): YamlNode {
    const offset = startOf(events[at++], parent);
    if (!(value instanceof Map) && !Array.isArray(value)) return { scalar: value, offset };
    const node = Array.isArray(value)
      ? { offset, items: value.map((each: unknown) => read(each, offset)) }
      : { offset, entries: [...(value.values() as Iterable<unknown>)].map((each) => readEntry(each, offset)) };
    // The end of the list or map.
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

/** An empty value stands nowhere itself: its place is the one of what it is in. */
function startOf(event: Event | undefined, parent: number): number {
  if (event?.type === EVENT_ID.SCALAR) {
    if (event.valueStart < 0 || event.valueStart === event.valueEnd) return parent;
    const quoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
    return event.valueStart - (quoted ? 1 : 0);
  }
  return event !== undefined && 'start' in event && event.start >= 0 ? event.start : parent;
}
