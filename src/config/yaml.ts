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

/** A place in a text, both from 1. */
export interface Place {
  line: number;
  column: number;
}

/** A value with where it stands, and so for everything in it. */
export interface YamlNode {
  /** Text, number, boolean or null; undefined for a list or a map. */
  scalar: unknown;
  place: Place;
  items: readonly YamlNode[] | undefined;
  entries: readonly YamlEntry[] | undefined;
}

export interface YamlEntry {
  key: string;
  place: Place;
  node: YamlNode;
}

/** A text that is no YAML, or more of it than settings need. */
export class YamlError extends Error {
  override name = 'YamlError';
  readonly place: Place | undefined;

  constructor(message: string, place: Place | undefined) {
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

/**
 * One document of YAML 1.2 (JSON is one, too); undefined if there are but comments. Aliases are refused: a few of them can stand for
 * gigabytes. Throws a `YamlError`.
 */
export function parseYaml(text: string): YamlNode | undefined {
  const placeAt = createPlaces(text);
  try {
    const events = parseEvents(text, { maxDepth });
    if (events.length > maxEvents) throw new YamlError('holds far more values than there are settings', undefined);
    const alias = events.find((event) => event.type === EVENT_ID.ALIAS);
    if (alias?.type === EVENT_ID.ALIAS)
      throw new YamlError(
        'aliases (*name) are not understood here: write the value out',
        placeAt(alias.anchorStart - 1),
      );
    const [document, ...more] = constructFromEvents(events, { source: text, schema, maxAliases: 0 });
    if (more.length > 0) throw new YamlError('holds several documents (---): one is expected', undefined);
    return document === undefined ? undefined : createReader(events, text, placeAt)(document);
  } catch (error) {
    if (error instanceof YamlError) throw error;
    if (!(error instanceof YAMLException)) throw error;
    const { reason, mark } = error;
    const place = mark && { line: mark.line + 1, column: mark.column + 1 };
    throw new YamlError(reasons[reason] ?? `is not YAML: ${reason}`, place);
  }
}

const reasons: Readonly<Record<string, string>> = {
  'duplicated mapping key': 'is there twice: leave one out',
  [`nesting exceeded maxDepth (${maxDepth})`]: 'is nested too deeply to be settings',
};

/** Events tell where everything stands, documents what it means: both have the same order. */
function createReader(events: readonly Event[], text: string, placeAt: (offset: number) => Place) {
  // The first one begins the document.
  let at = 1;
  return read;

  function read(value: unknown, fallback: Place = { line: 1, column: 1 }): YamlNode {
    const event = events[at++];
    const place = startOf(event, fallback);
    if (value instanceof Map) {
      const entries = [...(value as ReadonlyMap<unknown, unknown>).values()].map((each) => readEntry(each, place));
      at++;
      return { scalar: undefined, place, items: undefined, entries };
    }
    if (Array.isArray(value)) {
      const items = value.map((each: unknown) => read(each, place));
      at++;
      return { scalar: undefined, place, items, entries: undefined };
    }
    return { scalar: value, place, items: undefined, entries: undefined };
  }

  function readEntry(value: unknown, parent: Place): YamlEntry {
    const event = events[at++];
    const place = startOf(event, parent);
    if (event?.type !== EVENT_ID.SCALAR) throw new YamlError('a list or a map cannot be a key here', place);
    return { key: getScalarValue(text, event), place, node: read(value, place) };
  }

  function startOf(event: Event | undefined, fallback: Place): Place {
    if (event === undefined) return fallback;
    if (event.type === EVENT_ID.SCALAR) {
      if (event.valueStart < 0 || event.valueStart === event.valueEnd) return fallback;
      const quoted = event.style === SCALAR_STYLE.SINGLE_QUOTED || event.style === SCALAR_STYLE.DOUBLE_QUOTED;
      return placeAt(event.valueStart - (quoted ? 1 : 0));
    }
    return 'start' in event && event.start >= 0 ? placeAt(event.start) : fallback;
  }
}

function createPlaces(text: string): (offset: number) => Place {
  const starts = [0];
  for (const { index } of text.matchAll(/\n/g)) starts.push(index + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
