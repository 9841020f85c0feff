import type { Millis } from '../model/log-line.ts';

/** Any JSON value, looked into without trust. */
export type Json = unknown;

/** Undefined if the text is no JSON: a proxy in between may answer with a page of HTML. */
export function parsed(line: string): Json {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

let last: { text: string; value: Json } = { text: '', value: undefined };

/** The same of a line that is one character a byte. A line of JSON is read twice, for its envelope and as a packet, so the last value is kept. */
export function parsedBytes(line: string): Json {
  if (line !== last.text)
    last = {
      text: line,
      value: parsed(/[\x80-\xff]/.test(line) ? Buffer.from(line, 'latin1').toString('utf8') : line),
    };
  return last.value;
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

/** A text that is spelled as `grammar` wants it. */
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

/** Shows a value to a person: a text as it is, all else as JSON. An object's own toString is not called. */
export function shown(value: Json): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    // JSON.parse reads any depth.
    return '(nested too deeply)';
  }
}

export function instant(value: Json): Millis | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : NaN;
  return Number.isNaN(time) ? undefined : time;
}
