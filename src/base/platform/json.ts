import type { Millis } from '../model/log-line.ts';

/** Any JSON value. It is not trusted, so it is read through functions that check it. */
export type Json = unknown;

/** Returns undefined if the text is not JSON: a proxy may answer with an HTML page. */
export function parsed(line: string): Json {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

let last: { text: string; value: Json } = { text: '', value: undefined };

/** Parses one character per byte. Remembers the last line, because JSON is read twice: for its envelope and as a packet. */
export function parsedBytes(line: string): Json {
  if (line !== last.text)
    last = {
      text: line,
      value: parsed(isAscii(line) ? line : Buffer.from(line, 'latin1').toString('utf8')),
    };
  return last.value;
}

/** A regular expression reads each character; this counts eight at a time. */
export function isAscii(line: string): boolean {
  return Buffer.byteLength(line) === line.length;
}

export function at(value: Json, ...path: string[]): Json {
  let here = value;
  for (const key of path) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Record<string, Json>)[key];
  }
  return here;
}

export function list(value: Json): Json[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: Json): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function spelled(value: Json, grammar: (text: string) => boolean): string | undefined {
  const given = text(value);
  return given !== undefined && grammar(given) ? given : undefined;
}

export function strings(value: Json): Record<string, string> {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Shows a value to a person: a text as it is, anything else as JSON. It never calls an object's own toString. */
export function shown(value: Json): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // JSON.stringify fails on deep nesting that JSON.parse has accepted.
    return '(nested too deeply)';
  }
}

export function instant(value: Json): Millis | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}
